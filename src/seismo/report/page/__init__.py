"""HTML pages of coverage, of lines' times and of objects: self-contained, readable offline, one design for all.

    write_coverage(report, "htmlcov")        index.html and a page a file
    write_lines(recording, "lines.html")     one page
    write_objects(recording, "refs.html")    one page

A page loads nothing. Its style and its script stand in it and are named by their hashes in a Content-Security-Policy,
so that nothing else runs, whatever the recorded program called its files, functions and contexts. No text of the
recorded program stands in a script or a style: the script reads it from elements, where it is escaped text.
"""

from seismo.report.page.coverage import write_coverage
from seismo.report.page.document import MARK
from seismo.report.page.lines import write_lines
from seismo.report.page.objects import write_objects

__all__ = ["MARK", "write_coverage", "write_lines", "write_objects"]
