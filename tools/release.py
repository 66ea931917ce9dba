"""Check that a release can be made, tag it, and check what was built. Nothing is uploaded: docs/releasing.md goes on.

`prepare` checks the version, the changelog and the checkout, and makes the tag. `check` runs twine,
check-wheel-contents and pydistcheck on everything in dist, compares it with what a clone of the tag builds, writes its
bill of materials, and lists what an upload would take. `make release` runs both, and builds in between.
"""

import argparse
import datetime as dt
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from wheels import interpreters

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CHECKERS = ["twine==7.0.0", "check-wheel-contents==0.6.3", "pydistcheck==0.11.3"]


def text_of(name: str, pattern: str) -> str:
    """Return the first group of the pattern in a file of the repository. End with an error if it is not there."""
    found = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{name}: nothing matches {pattern}")
    return found[1]


def version() -> str:
    """Return the version, which all files that have one must agree on."""
    declared: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for name, pattern in (
        ("src/seismo/__init__.py", r'^__version__ = "(.*)"$'),
        ("editors/vscode/package.json", r'^  "version": "(.*)",$'),
        ("CHANGELOG.md", r"^## (\S+)"),
    ):
        if (other := text_of(name, pattern)) != declared:
            what = "newest entry is for" if name == "CHANGELOG.md" else "version is"
            raise SystemExit(f"{name}: the {what} {other}, but pyproject.toml has {declared}. Make them equal.")
    return declared


def git(*words: str) -> str:
    """Run git and return its output."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.rstrip()


def prepare() -> None:
    """Check the version, the changelog and the checkout, and tag the commit."""
    number = version()
    date = text_of("CHANGELOG.md", r"^## \S+ \((.*)\)$")
    try:
        dt.date.fromisoformat(date)
    except ValueError:
        raise SystemExit(
            f"CHANGELOG.md: give {number} its date, for example 2026-01-31, in place of {date!r}"
        ) from None
    if changed := git("status", "--porcelain"):
        raise SystemExit(f"commit these changes first:\n{changed}")
    tag, commit = f"v{number}", git("rev-parse", "HEAD")
    if tag not in git("tag").splitlines():
        git("tag", "-a", tag, "-m", f"seismo {number}")
    elif git("rev-list", "-n", "1", tag) != commit:
        raise SystemExit(
            f"version {number} exists: the tag {tag} is another commit. A release is never changed: set the next "
            f"version. If {tag} was never pushed, git tag -d {tag} removes it."
        )
    print(f"{tag} is {commit}")


def bill_of_materials() -> dict[str, object]:
    """Return what the distributions contain of others, as a CycloneDX document."""
    lz4 = [
        text_of("native/vendor/lz4/lz4.h", rf"^#define LZ4_VERSION_{part} +(\d+)")
        for part in ("MAJOR", "MINOR", "RELEASE")
    ]
    preact = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]["preact"]
    parts = [("lz4", ".".join(lz4), "BSD-2-Clause", "github/lz4/"), ("preact", preact, "MIT", "npm/")]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": "seismo", "version": version()}},
        "components": [
            {
                "type": "library",
                "name": name,
                "version": number,
                "licenses": [{"license": {"id": license_id}}],
                "purl": f"pkg:{kind}{name}@{number}",
            }
            for name, number, license_id, kind in parts
        ],
    }


def check_same_bytes(lines: list[str]) -> None:
    """Build the source distribution and some wheels from a clone elsewhere, and compare; `lines` as for wheels.py."""
    python = next(found for found in interpreters(lines) if len(found.command) == 1)  # others see this folder only
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["git", "-c", "advice.detachedHead=false", "clone", "-q", "--branch", f"v{version()}", ROOT, folder],
            check=True,
        )
        subprocess.run(["make", "-s", "-C", folder, "dist", f"PYTHON={sys.executable}"], check=True)
        words = ["--only", f"manylinux.*{os.uname().machine}", f"dist/seismo-{version()}.tar.gz"]
        subprocess.run(
            [sys.executable, "tools/wheels.py", *words], cwd=folder, check=True, text=True,
            input=f"{python.version} {python.command[0]}\n", stdout=subprocess.DEVNULL,
        )  # fmt: skip
        built = sorted((Path(folder) / "dist").iterdir())
        if differs := [file.name for file in built if file.read_bytes() != (DIST / file.name).read_bytes()]:
            raise SystemExit(f"another build of the same commit has other bytes: {', '.join(differs)}")
        print(f"built again elsewhere with the same bytes: {', '.join(file.name for file in built)}")


def check() -> None:
    """Check all distributions, write the bill of materials beside the folder, and list what an upload would take."""
    files = sorted(map(str, [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]))
    wheels = [name for name in files if name.endswith(".whl")]
    if not wheels or len(wheels) == len(files):
        raise SystemExit("dist lacks wheels or the source distribution: run make wheels")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *CHECKERS], check=True)
    beside = Path(sys.executable).parent
    for name, *words in (
        ["twine", "check", "--strict", *files],
        ["check-wheel-contents", *wheels],
        ["pydistcheck", *files],
    ):
        subprocess.run([beside / name, *words], cwd=ROOT, check=True)
    target = ROOT / "build" / f"seismo-{version()}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(bill_of_materials(), indent=2) + "\n")
    check_same_bytes(sys.stdin.read().splitlines())
    print(f"{len(wheels)} wheels and the source distribution passed; bill of materials: {target.relative_to(ROOT)}")
    print("Nothing is uploaded yet. An upload takes:")
    for file in map(Path, files):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        print(f"  {digest}  {file.stat().st_size:>9,}  {file.name}")
    print(f"Next: git push origin v{version()}; docs/releasing.md has the rest.")


def main() -> None:
    """Run one of the two steps."""
    steps = {"prepare": prepare, "check": check}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("step", choices=steps)
    steps[parser.parse_args().step]()


if __name__ == "__main__":
    main()
