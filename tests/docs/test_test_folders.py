"""The architecture lists every folder of the tests."""

import re

from paths import ROOT


def test_the_architecture_says_what_each_folder_of_tests_is_for():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    there = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert there - set(re.findall(r"`tests/(\w+)", page)) <= {"common"}, "those that several of the folders share"
