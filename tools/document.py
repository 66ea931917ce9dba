"""Write the pages that the program itself can tell: docs/cli.md, from the help of every command.

With --check nothing is written and the exit status says whether the page is what it would be written to be. Another
Python's argparse breaks lines elsewhere and names an option's value once, so the page is that of the oldest one that
seismo supports, and --check compares words.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from seismo.cli import main as command

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cli.md"
VERBS = list(command.VERBS)

HEAD = """# Commands

What `seismo --help` and `seismo COMMAND --help` print. `make docs` writes this page; `python -m seismo` is the same
as `seismo`.
"""


def help_of(*words: str) -> str:
    """What `seismo WORDS --help` prints on a terminal of 80 columns."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "seismo", *words, "--help"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def page() -> str:
    """The whole page as it should be."""
    parts = [HEAD, f"## seismo\n\n```text\n{help_of().rstrip()}\n```\n"]
    parts += [f"## seismo {verb}\n\n```text\n{help_of(verb).rstrip()}\n```\n" for verb in VERBS]
    return "\n".join(parts)


def words(text: str) -> list[str]:
    """What is said, however argparse sets it: `-o FILE, --output FILE` is `-o, --output FILE` from 3.13 on."""
    return re.sub(r"(-\w) (\S+), (--[\w-]+) \2", r"\1, \3 \2", text).split()


def main() -> int:
    """Write the page, or with --check say whether it is up to date."""
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and words(PAGE.read_text(encoding="utf-8")) == words(text) else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
