"""Pages in a browser: what opens the page of a kind."""

import pytest
from browsers import Shown

OF_SHOWN = ("size", "scheme", "calm", "wait")


@pytest.fixture
def showing(browser, tmp_path):
    """Makes what opens the pages of a kind.

    showing(write) gives show(what, **options): write(path, what) has written the page of `what` to the path, or to the
    one that it returns, and the page is open. Options are those of Shown; all others are for write. Each page that was
    opened is held to what every page must keep.
    """
    opened = []

    def showing_(write):
        def show(what, **options):
            how = {name: options.pop(name) for name in OF_SHOWN if name in options}
            path = tmp_path / f"page{len(opened)}.html"
            opened.append(Shown(browser, write(path, what, **options) or path, **how))
            return opened[-1]

        return show

    yield showing_
    for shown in opened:
        shown.close()
