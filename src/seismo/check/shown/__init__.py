"""What a check found, in the forms that people and their tools read: one file a form.

Every form is a function of the Outcome that returns text. Names are the measured program's to choose, and are escaped
as each form needs it.
"""

from seismo.check.shown.github import github
from seismo.check.shown.json import as_json
from seismo.check.shown.junit import junit
from seismo.check.shown.markdown import markdown
from seismo.check.shown.text import text

FORMATS = {"text": text, "markdown": markdown, "github": github, "junit": junit, "json": as_json}

__all__ = ["FORMATS", "as_json", "github", "junit", "markdown", "text"]
