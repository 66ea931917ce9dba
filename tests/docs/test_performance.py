"""docs/performance.md and the pages of single interpreters have the tables that benchmarks/run_all.py writes."""

import json
import re

import children
import pytest
from paths import ROOT

PAGE = ROOT / "docs" / "performance.md"
TABLES = sorted((ROOT / "docs" / "performance").glob("*.md"))
ALL = [PAGE, *TABLES]
README = ROOT / "README.md"
MARKER = re.compile(r"^<!-- (begin|end): (.+) -->$", re.MULTILINE)
# Where a copy of the pages is written, and the results that are kept there.
REDIRECTED = """
import json, sys
from pathlib import Path
import pages
folder = Path(sys.argv[1])
pages.RESULTS, pages.PAGE = folder / "results", folder / "performance.md"
pages.TABLES, pages.README = folder / "performance", folder / "README.md"
pages.write_pages()
print(json.dumps(list(pages.BENCHMARKS)))
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the pages that results can be written into."""
    (tmp_path / "performance").mkdir()
    for path in [*ALL, README]:
        copied(path, tmp_path).write_text(path.read_text())
    return tmp_path


def copied(path, folder):
    """Where the page is in the folder of copies."""
    return folder / (f"performance/{path.name}" if path in TABLES else path.name)


def write(folder):
    """Write the copied pages from the results in its folder; the benchmarks' names.

    The benchmarks' modules have names like those of packages, so a process of their own imports them.
    """
    done = children.python("-c", REDIRECTED, folder, cwd=ROOT / "benchmarks", status=None)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def keep(folder, label, name, results):
    """Put a benchmark's document where run_all.py keeps it."""
    machine = {"python": f"{label}.1", "compiler": "GCC", "enable_optimizations": True, "build": "", "processor": "P"}
    document = {
        "benchmark": name,
        "machine": machine | {"cores": 2, "system": "Linux", "date": "2026-01-01"},
        "method": "best of 3",
        "results": results,
        "text": f"| {name} | table |",
    }
    path = folder / "results" / label / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_every_table_has_its_two_markers_once(path):
    found = MARKER.findall(path.read_text())
    assert found
    sections = list(zip(found[::2], found[1::2], strict=True))
    assert all(begin == ("begin", end[1]) and end[0] == "end" for begin, end in sections)
    assert len({begin[1] for begin, _ in sections}) == len(sections)


def test_the_pages_are_what_would_be_written_without_new_results(copy):
    """A promise that was added to targets.py, or reworded there, is on the page after run_all.py --docs-only."""
    names = write(copy)
    for path in [*ALL, README]:
        assert copied(path, copy).read_text() == path.read_text(), f"{path.name} is stale"
    for name in names:
        assert (ROOT / "benchmarks" / f"{name}.py").is_file()


def test_new_readings_replace_old_ones_and_a_new_interpreter_gets_a_page_and_a_column(copy):
    keep(copy, "3.12", "overhead", {"totals": {"programs": {"seismo.cprofile": {"geomean": 1.5}}}})
    keep(copy, "3.99", "objects", {"totals": {"seismo types": {"ns": 2.5}}})
    before = (copy / "performance.md").read_text()
    write(copy)
    after = (copy / "performance.md").read_text()
    (row,) = re.findall(r"^\| `seismo\.cprofile`.*$", after, re.MULTILINE)
    assert row.split("|")[4].strip() == "**1.50**"
    assert re.search(r"^\| hooks: `seismo\.cprofile`: ÷ cProfile +\| +< 1 \| +1\.50 on 3\.12 \|$", after, re.MULTILINE)
    kept = re.compile(r"^\| lines: × bare.*$", re.MULTILINE)
    assert kept.findall(after) == kept.findall(before)
    tables = (copy / "performance" / "3.12.md").read_text()
    assert "<!-- begin: overhead -->\n| overhead | table |\n\nBest of 3.\n<!-- end: overhead -->" in tables
    assert "<!-- begin: truth -->\n| program" in tables
    assert re.search(r"^\| 3\.99 +\| +3\.99\.1 \|", after, re.MULTILINE)
    assert re.search(r"^\| by type: ns an event .* 2\.5 \|$", after, re.MULTILINE)
    assert "| objects | table |" in (copy / "performance" / "3.99.md").read_text()


def test_new_readings_are_in_the_readme(copy):
    readme = (copy / "README.md").read_text()
    keep(copy, "3.12", "truth", {"tools": {"seismo auto": {"worst": 2.26, "nineteen": 4.5}}})
    write(copy)
    row = r"^\| largest error .*: seismo +\| +([\d.–]+) \| +([\d.–]+) \|"
    (kept, _), (again, measured) = (
        re.search(row, text, re.MULTILINE).groups() for text in (readme, (copy / "README.md").read_text())
    )
    assert (again, measured) == (kept, "2.3")


def test_the_costs_in_the_readme_are_on_the_pages_of_results():
    costs = README.read_text().partition("\n## How much slower")[2].partition("\n## ")[0]
    shown = set(re.findall(r"\b\d+\.\d\d\b", costs)) - {"1.00"}
    measured = PAGE.read_text() + (ROOT / "docs" / "performance" / "3.14.md").read_text()
    assert len(shown) > 10
    assert not [number for number in shown if not re.search(rf"\b{re.escape(number)}\b", measured)]


def test_every_reading_is_a_number():
    for path in ALL:
        cells = re.findall(r"\|([^|\n]*)(?=\|)", path.read_text())
        assert not [cell for cell in cells if re.search(r"\b(nan|inf|None|TODO)\b", cell)]
