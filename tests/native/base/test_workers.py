"""The core's own threads under ThreadSanitizer: ticker, sampler, safe point, the flush of two recordings.

Each runs beside threads that hold a lock like the interpreter's, and one that forks without it. A small C program has
the real sources in it and stands in for the interpreter. That it can fail is tested, too.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import extensions
import pytest
from paths import ROOT

pytestmark = pytest.mark.matrix  # the compiler takes ten seconds
COMPILER = shutil.which("cc") or shutil.which("gcc")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fsanitize=thread", "-fno-pie", "-no-pie", "-pthread"]
RACE = 66  # the exit status that ThreadSanitizer is told to end with


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """workers(part) -> exit status and what was said."""
    folder = extensions.shared(tmp_path_factory, "workers")
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    empty = [COMPILER or "", *FLAGS, "-o", str(folder / f"empty-{os.getpid()}"), str(folder / "empty.c")]
    headers = sysconfig.get_paths()["include"]
    usable = COMPILER and os.path.exists(os.path.join(headers, "Python.h"))
    if not usable or subprocess.run(empty, capture_output=True).returncode:
        pytest.skip("needs a C compiler with ThreadSanitizer, and the interpreter's headers")
    if subprocess.run([empty[-2]], capture_output=True).returncode:
        pytest.skip("programs with ThreadSanitizer do not run on this kernel")
    native = ROOT / "native"
    sources = [Path(__file__).with_name("workers_harness.c")]
    sources += [native / "engine" / f"{name}.c" for name in ("ticker", "flush", "mutex", "save", "state", "output")]
    sources += [native / "file" / name for name in ("tables.c", "writer.c", "writer_renew.c")]
    sources += [native / name for name in ("hooks/safepoint.c", "compat/forks.c")]
    sources += [*sorted((native / "engine").glob("thread*.c")), *sorted((native / "base").glob("*.c"))]
    sources += sorted((native / "clock").glob("*.c"))
    program = folder / "workers"
    command = [COMPILER, *FLAGS, "-Wall", "-Wextra", f"-I{native}", f"-I{headers}", "-o", program, *sources, "-lm"]
    # What the sources need of the interpreter is not called in what is driven here.
    command.append("-Wl,--unresolved-symbols=ignore-all")
    extensions.once(program, lambda: subprocess.run(command, check=True))

    def run(part):
        options = {"TSAN_OPTIONS": f"exitcode={RACE} die_after_fork=0", "PATH": "/usr/bin:/bin"}
        done = subprocess.run([program, part], capture_output=True, text=True, timeout=120, env=options)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("part", ["ticker", "flush", "sampler", "safepoint"])
def test_no_two_threads_touch_what_only_one_may(workers, part):
    status, said = workers(part)
    assert (status, said) == (0, "done\n")


def test_a_race_is_found(workers):
    status, said = workers("race")
    assert status == RACE
    assert "data race" in said
    assert "add_plainly" in said
