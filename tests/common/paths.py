"""Where things are: the repository, the package that is tested, and the folders that tests and children import from."""

from pathlib import Path

import seismo

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SOURCE = Path(seismo.__file__).parents[1]  # the folder that the package under test is imported from
COMMON = TESTS / "common"
EXAMPLES = ROOT / "examples"
DOCS = ROOT / "docs"
