"""Writers of a check's result, one module per format for people and tools.

Each writer is a function of the Outcome that returns text. Names come from the measured program, so each writer escapes
them as its format requires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.check.writers.github import github
from seismo.check.writers.junit import junit
from seismo.check.writers.report_sections import story
from seismo.check.writers.text import text
from seismo.report.story.document import document
from seismo.report.story.markdown import markdown as fitting

if TYPE_CHECKING:
    from seismo.check.check_result import Outcome


def markdown(outcome: Outcome) -> str:
    """Return the result for the comment of a pull request."""
    return fitting(story(outcome))


def as_json(outcome: Outcome) -> str:
    """Return the result for programs; docs/report-schema.json describes it."""
    return document(story(outcome))


FORMATS = {"text": text, "markdown": markdown, "github": github, "junit": junit, "json": as_json}

__all__ = ["FORMATS", "as_json", "github", "junit", "markdown", "text"]
