"""Memory of a recorded program by the number of its child processes, and of `seismo merge` by that of the files.

A program starts N Pythons, one after the other, that import a good part of the standard library, under `seismo profile
--children`. What is told is the largest resident memory that the first process ever had, the parts' merge at its end
included; then that of `seismo merge` of as many copies of one recording, of calls and of objects with their call paths.
None of them may grow with N.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import arguments, finish, number, table

IMPORTS = "import asyncio, unittest.mock, email.message, xml.dom.minidom"
PROGRAM = f"""
import subprocess, sys
for _ in range(int(sys.argv[1])):
    subprocess.run([sys.executable, "-c", {IMPORTS!r}], check=True)
"""
# In the recorded process, after seismo's own end: the last to be finalized is the first to have been registered.
LAST = """
import atexit, sys
def tell():
    status = open("/proc/self/status").read()
    sys.stderr.write(status.partition("VmHWM:")[2].split()[0])
atexit.register(tell)
from seismo.cli.main import main
sys.exit(main())
"""


def peak(words: list[str], folder: str) -> int:
    """The largest resident memory of `seismo WORDS`, in kB."""
    done = subprocess.run(
        [sys.executable, "-c", LAST, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
    )
    return int(done.stderr)


def main() -> None:
    parser = arguments(__doc__, rounds=1, quick_rounds=1)
    parser.add_argument("--counts", default="5,60,500", help="how many children, or files (default: %(default)s)")
    options = parser.parse_args()
    counts = [int(count) for count in ((options.counts if not options.quick else "5,20").split(","))]
    results: dict[str, Any] = {}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "many.py").write_text(PROGRAM)
        peak(["objects", "-q", "--paths", "-o", "paths.seismo", "-c", IMPORTS], folder)
        command = ["profile", "-q", "--children", "-o"]
        for count in counts:
            recorded = peak([*command, f"{count}.seismo", "many.py", str(count)], folder)
            size = os.path.getsize(f"{folder}/{count}.seismo")
            one = f"{counts[0]}.seismo"
            merged = peak(["merge", "--force", "-o", "merged.seismo", *[one] * count], folder)
            of_paths = peak(["merge", "--force", "-o", "merged.seismo", *["paths.seismo"] * count], folder)
            results[str(count)] = {
                "first_process_kb": recorded,
                "file_bytes": size,
                "merge_kb": merged,
                "merge_of_paths_kb": of_paths,
            }
            megabytes = [number(kb / 1024, 0) for kb in (recorded, merged, of_paths)]
            rows.append([str(count), megabytes[0], number(size / 2**20, 1), *megabytes[1:]])
    names = ["N", "first process, MB", "file, MB", "merge of N, MB", "merge of N with objects' paths, MB"]
    method = "the largest resident memory (VmHWM) of the process, once"
    finish("children", options, method, results, table(names, rows))


if __name__ == "__main__":
    main()
