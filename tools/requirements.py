"""Print what some of pyproject.toml's extras ask for, one requirement a line: `python tools/requirements.py test dev`.

With `pip install -e '.[test]'` pip would build seismo again, with its native core, to learn the same.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def requirements(*extras: str) -> list[str]:
    """Return what seismo itself and these extras need in pip's notation, without seismo."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    return list(dict.fromkeys(asked))


if __name__ == "__main__":
    print("\n".join(requirements(*sys.argv[1:])))
