"""Try the seismo that is installed beside this interpreter: record a real program in every way, and read the files.

Run it with the interpreter whose environment has the wheel, in any folder but the checkout. It needs no compiler and
nothing that seismo does not depend on: the program is Pygments, which Rich brings. Prints a line for each command, with
its seconds; ends with the output of the first that fails. Then prints what the start of a recording costs.
"""

import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
from pathlib import Path

SUPPORTS_OBJECTS = sys.version_info >= (3, 13, 3)
# What is measured over an empty program, and how often.
STARTS = {
    "seismo.start and stop in a program": [
        "-c",
        "import seismo.process.engine as e; r = e.Recorder(); r.begin({}, -1); r.end()",
    ],
    "seismo profile of an empty program": ["-m", "seismo", "profile", "-q", "--force", "-o", "empty.seismo", "-c", ""],
}
TURNS = 40
# What the program must have executed, by a word of the report.
REPORTED = {
    "profile": "highlight",
    "trace": "highlight",
    "lines": "highlight",
    "cover": "cmdline",
    "objects": "Alive at the end",
}


def run(words: list[str], status: int = 0) -> str:
    """Run this interpreter with the arguments and return its output."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}exit status {done.returncode}, not {status}")
    print(f"{time.perf_counter() - start:6.2f} s  {' '.join(words)}", flush=True)
    return done.stdout


def check_installation() -> None:
    """Check what the wheel installed: the core without its entry points for tests, the licences, the type marker."""
    from importlib.metadata import distribution

    import seismo
    from seismo import _core

    home = Path(seismo.__file__).parent
    assert home.parent == Path(sysconfig.get_path("platlib")), f"seismo is taken from {home}"
    assert not hasattr(_core, "_advance_clock"), "the core has entry points for tests"
    installed = distribution("seismo")
    names = {file.name for file in installed.files or []}
    assert {"py.typed", "_core.pyi", "seismo.h", "LICENSE", "PREACT-LICENSE", "WHEEL"} <= names, sorted(names)
    tag = (installed.read_text("WHEEL") or "").split("Tag: ")[-1].strip()
    print(f"          Python {sys.version.split()[0]}, {tag}")


def check_doctor() -> None:
    """Check that seismo finds a source of events and a clock here."""
    facts = json.loads(run(["-m", "seismo", "doctor", "--json"]))
    assert any(source["chosen"] for source in facts["sources"]), facts
    print(f"          clock {facts['clock']['name']}: {facts['clock']['reason']}")


def record(verb: str, program: list[str], expected: str) -> None:
    """Record the program and read the recording. `expected` is what the program writes without a recorder."""
    words = ["-m", "seismo", verb, "-q", "-o", f"{verb}.seismo"]
    if verb == "objects" and not SUPPORTS_OBJECTS:
        run([*words, *program], status=2)
        return
    more = ["--include", "*/pygments/*"] if verb == "cover" else []
    assert run([*words, *more, *program]) == expected, "the recorded program writes something else"
    report = run(["-m", "seismo", "report", f"{verb}.seismo"])
    assert REPORTED[verb] in report, report
    run(["-m", "seismo", "report", f"{verb}.seismo", "--html", f"{verb}.html"])


def cpu_ms(words: list[str]) -> float:
    """Run this interpreter and return the milliseconds that processors spent on it."""
    _, status, used = os.wait4(os.posix_spawn(sys.executable, [sys.executable, *words], os.environ), 0)
    assert status == 0, words
    return (used.ru_utime + used.ru_stime) * 1e3


def measure_starts() -> None:
    """Print what recordings cost at their start: the median of differences to a bare interpreter, strictly in turn."""
    for name, words in STARTS.items():
        cpu_ms(words)  # writes bytecode, and keeps what the calibration finds
        costs = [cpu_ms(words) - cpu_ms(["-c", ""]) for _ in range(TURNS)]
        low, median, high = statistics.quantiles(costs, n=4)
        print(f"{median:5.1f} ms  {name}, of a processor, over bare Python (quartiles {low:.1f} and {high:.1f})")


def main() -> None:
    """Try everything in a new folder."""
    check_installation()
    program = ["-m", "pygments", "-l", "python", "-f", "html", textwrap.__file__]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_doctor()
        expected = run(program)
        for verb in REPORTED:
            record(verb, program, expected)
        measure_starts()
        os.chdir("/")


if __name__ == "__main__":
    main()
