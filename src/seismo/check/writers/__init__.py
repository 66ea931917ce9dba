"""What a check found, in the forms that people and their tools read: one file a form.

Every form is a function of the Outcome that returns text. Names are the measured program's to choose, and are escaped
as each form needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.check.writers.github import github
from seismo.check.writers.junit import junit
from seismo.check.writers.text import text

if TYPE_CHECKING:
    from seismo.check.outcome import Outcome


def markdown(outcome: Outcome) -> str:
    """Return the result for the comment of a pull request."""
    from seismo.check.writers.story import story
    from seismo.report.story.markdown import markdown as fitting

    return fitting(story(outcome))


def as_json(outcome: Outcome) -> str:
    """Return the result for programs; docs/report-schema.json says what is in it."""
    from seismo.check.writers.story import story
    from seismo.report.story.document import document

    return document(story(outcome))


FORMATS = {"text": text, "markdown": markdown, "github": github, "junit": junit, "json": as_json}

__all__ = ["FORMATS", "as_json", "github", "junit", "markdown", "text"]
