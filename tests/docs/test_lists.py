"""Lists in the pages are complete: a page's own contents, and the folders of the tests."""

import re

from paths import ROOT

LISTED = re.compile(r"^- \[([^\]]+)\]\(#[^)]+\)$", re.MULTILINE)
TITLE = re.compile(r"^## (.*)$", re.MULTILINE)


def test_the_user_guide_lists_all_of_its_sections():
    page = (ROOT / "docs" / "user-guide.md").read_text(encoding="utf-8")
    assert LISTED.findall(page) == TITLE.findall(page)


def test_the_architecture_says_what_each_folder_of_tests_is_for():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    there = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert there - set(re.findall(r"`tests/(\w+)", page)) <= {"common"}, "those that several of the folders share"
