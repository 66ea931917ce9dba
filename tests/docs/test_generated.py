"""Pages that are written by the program are what the program would write now."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="argparse words its help differently from version to version")
def test_command_page_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools" / "document.py", "--check"], check=False)
    assert done.returncode == 0, "docs/cli.md is stale: run `make docs`"
