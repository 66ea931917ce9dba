"""seismo lines, and seismo report of what it made."""

import pytest
from timing import SOURCES

from seismo.model import read

pytestmark = pytest.mark.skipif(not SOURCES, reason="no source of lines here")

PROGRAM = """
import sys
def helper(n):
    return [n
            for _ in range(3)]
def work(n):
    total = 0
    for i in range(n):
        total += len(helper(i))
    return sorted(range(5), key=lambda v: -v)
if __name__ == "__main__":
    work(50)
    print("done", *sys.argv[1:])
    sys.exit(3)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    return tmp_path


def test_a_script_and_its_report(seismo, program):
    ended = seismo("lines", "-o", "r.seismo", "--only", "__main__.work", "app.py", "a", status=3)
    assert ended.stdout == "done a\n"
    assert "hits of" in ended.stderr
    assert "seismo report r.seismo" in ended.stderr
    recording = read(program / "r.seismo")
    names = recording.functions["qualname"]
    hits = {(names[row.function], row.line): row.hits for row in recording.lines if row.hits}
    assert hits["work", 9] == 50
    assert {name for name, _ in hits} == {"work", "work.<locals>.<lambda>"}
    shown = seismo("report", "r.seismo", "--all", status=0, COLUMNS="160").stdout
    assert "total += len(helper(i))" in shown
    assert "▸ <lambda>" in shown
    assert "100 % is" in shown
