"""The default regular expressions for lines to exclude and for branches that need not be complete.

They are those of coverage.py, so that a project may switch without a change to its comments. Each is searched for in
the whole text with re.MULTILINE. This module imports nothing, because a recorded process loads it with the settings.
"""

EXCLUDE: tuple[str, ...] = (
    r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(cover|COVER)",
    # A body that is only `...`, on its own line or after the definition's colon.
    r"^\s*(((async )?def .*?)?[\])]+(\s*->.*?)?:\s*)?\.\.\.\s*(#|$)",
    r"^\s*if (typing\.)?TYPE_CHECKING:",
)
PARTIAL: tuple[str, ...] = (r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(branch|BRANCH)",)
# These always apply, because their tests have a constant outcome.
PARTIAL_ALWAYS: tuple[str, ...] = (r"^\s*while (True|1|False|0):", r"^\s*if (True|1|False|0):")
