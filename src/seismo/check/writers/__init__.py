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
from seismo.report.story.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.check.check_result import Outcome


FORMATS: dict[str, Callable[[Outcome], str]] = {
    "text": text,
    "markdown": lambda outcome: markdown(story(outcome)),  # for the comment of a pull request
    "github": github,
    "junit": junit,
    "json": lambda outcome: document(story(outcome)),  # docs/report-schema.json describes it
}

__all__ = ["FORMATS", "text"]
