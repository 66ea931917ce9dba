"""The table of CONTRIBUTING.md that says where things are, held against the tree."""

import re

import pytest
from paths import ROOT

ROWS = re.findall(
    r"^\| (.+\?) \| `(\S+)` \| `(\S+)`: `(\w+)` \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
)


def test_the_table_is_found():
    assert len(ROWS) >= 10


@pytest.mark.parametrize(("question", "folder", "file", "name"), ROWS, ids=[row[0] for row in ROWS])
def test_things_are_where_the_table_says(question, folder, file, name):
    assert re.search(rf"\b{name}\b", (ROOT / folder / file).read_text())
