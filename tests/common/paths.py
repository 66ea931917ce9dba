"""Paths of the repository, the tested package, and the folders that tests and children import from."""

from pathlib import Path

import seismo

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SOURCE = Path(seismo.__file__).parents[1]  # the folder from which the tested package is imported
COMMON = TESTS / "common"
EXAMPLES = ROOT / "examples"
DOCS = ROOT / "docs"
