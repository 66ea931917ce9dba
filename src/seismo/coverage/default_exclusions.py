"""The regular expressions that hold for a project that sets none: what is excluded, what need not take both branches.

They are those that coverage.py's users know, so that a project may switch without touching its comments.
Each is searched for in the whole text with re.MULTILINE. This module imports nothing: the settings need it in the
recorded process too.
"""

EXCLUDE: tuple[str, ...] = (
    r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(cover|COVER)",
    # A body of `...` alone, on its line or after the definition's colon.
    r"^\s*(((async )?def .*?)?[\])]+(\s*->.*?)?:\s*)?\.\.\.\s*(#|$)",
    r"^\s*if (typing\.)?TYPE_CHECKING:",
)
PARTIAL: tuple[str, ...] = (r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(branch|BRANCH)",)
# These hold whatever the project sets: no test of theirs can come out both ways.
PARTIAL_ALWAYS: tuple[str, ...] = (
    r"^\s*while (True|1|False|0):",
    r"^\s*if (True|1|False|0):",
)
