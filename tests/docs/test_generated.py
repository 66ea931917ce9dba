"""Pages that are written by the program are what the program would write now."""

import children
from paths import ROOT


def test_command_page_is_up_to_date():
    children.python(ROOT / "tools" / "document.py", "--check")
