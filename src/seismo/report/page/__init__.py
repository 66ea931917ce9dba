"""HTML pages: self-contained, readable offline, one design for all. What draws them is in the folder `web`.

A page loads nothing. Its style and its script stand in it and are named by their hashes in a Content-Security-Policy,
so that nothing else runs, whatever the recorded program called its files, functions and contexts. No text of the
recorded program stands in a script or a style: the script reads it from elements that no browser runs.
"""

from seismo.report.page.document import MARK

__all__ = ["MARK"]
