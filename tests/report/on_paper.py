"""Reports and summaries as text."""

import io

from seismo.report.kind import of
from seismo.report.paper import Paper


def written(write, *what, width=100, signs=None, **how):
    """What a function writes on a paper."""
    out = io.StringIO()
    write(Paper(out, width, signs), *what, **how)
    return out.getvalue()


def summed_up(recording, path=""):
    """The lines at the end of a recorded run."""
    out = io.StringIO()
    of(recording).summary(recording, out, path)
    return out.getvalue().splitlines()
