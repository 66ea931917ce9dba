"""docs/performance.md has the tables that benchmarks/run_all.py writes, and names every benchmark."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "performance.md").read_text()
MARKER = re.compile(r"^<!-- (begin|end): (.+) -->$", re.MULTILINE)
# What run_all.py makes of the page's own readings, on a machine that has measured nothing.
ASKED = """
import json, run_all
page = run_all.PAGE.read_text()
again = run_all.summary_table([], page)
where = run_all.replace_section("\\n## Python 3.14\\n\\nText.\\n\\n## Python 3.15\\n", "refs 3.14", "| table |")
print(json.dumps({"names": run_all.NAMES, "summary": again, "where": where}))
"""


@pytest.fixture(scope="module")
def written():
    """What ASKED says. The benchmarks' modules have names like those of packages, so a process imports them."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def sections():
    found = MARKER.findall(PAGE)
    return [(begin, end) for begin, end in zip(found[::2], found[1::2], strict=True)]


def test_every_table_has_its_two_markers_once():
    names = [begin[1] for begin, _ in sections()]
    assert all(begin == ("begin", end[1]) and end[0] == "end" for begin, end in sections())
    assert len(names) == len(set(names))


def test_tables_stand_under_their_interpreters(written):
    for found in re.finditer(r"^## Python (\S+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL):
        names = [name for kind, name in MARKER.findall(found[2]) if kind == "begin"]
        assert names
        for name in names:
            benchmark, _, label = name.partition(" ")
            assert benchmark in written["names"]
            assert label == found[1]


def test_a_new_table_comes_into_its_section(written):
    text = written["where"]
    assert text.index("Text.") < text.index("<!-- begin: refs 3.14 -->\n| table |") < text.index("## Python 3.15")


def test_every_benchmark_is_explained(written):
    assert set(re.findall(r"^\| `(\w+)\.py` \|", PAGE, re.MULTILINE)) == set(written["names"])
    for name in written["names"]:
        assert (ROOT / "benchmarks" / f"{name}.py").is_file()


def test_the_summary_has_every_promise(written):
    """A promise that was added to run_all.py, or reworded there, is on the page after run_all.py --docs-only."""
    assert f"<!-- begin: summary -->\n{written['summary']}\n<!-- end: summary -->" in PAGE


def test_every_reading_is_a_number():
    cells = re.findall(r"\|([^|\n]*)(?=\|)", PAGE)
    assert not [cell for cell in cells if re.search(r"\b(nan|inf|None|TODO)\b", cell)]
