"""HTML pages: self-contained, readable offline, one design for all. The folder `web` has the code that draws them.

A page loads nothing. It contains its style and script, which a Content-Security-Policy names by their hashes, so that
nothing else runs, whatever the recorded program called its files, functions and contexts. No text of the recorded
program is in a script or a style: the script reads it from elements that no browser runs.
"""

from seismo.report.page.document import MARK

__all__ = ["MARK"]
