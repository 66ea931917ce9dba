"""For the tests of coverage; the modules beside them can be imported by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the tests are imported by path, so their folder is on no path
