"""The threads of the core beside the interpreter's, under ThreadSanitizer: no two touch what only one may.

The interpreter itself is built without it. Its locks are those of the system, which the sanitizer knows, so that the
GIL orders what two threads do with it.
"""

import shutil
import subprocess
import sys
import sysconfig

import children
import extensions
import pytest
from paths import COMMON, ROOT, SOURCE

pytestmark = [
    pytest.mark.matrix,  # the compiler takes a minute
    pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="there is no GIL to order anything"),
]
THREAD = "-fsanitize=thread"
RACE = 66  # the exit status that ThreadSanitizer is told to end with
# What recorders and sources keep of a thread, and repairs, others read meanwhile without an order: that is meant.
MEANT = "".join(
    f"race_top:{place}\n" for place in ("native/recorder/", "native/source/", "sm_engine_repair", "sm_off_add")
)


HELPERS = """
#include <sys/wait.h>
#include <unistd.h>
static volatile int plain;
void add_plainly(void) {
    for (int i = 0; i < 3000000; i++)
        plain++;
}
void fork_without_the_gil(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}
"""

PRELUDE = """
import ctypes, os, sys, time
from threads import in_threads
helpers = ctypes.CDLL(sys.argv[1])
"""

# All that has a thread of its own, or asks others for something: the writing of two files, one of which begins and ends
# beside the other, the sampler, a watch whose file is kept on the way; and a thread of C forks, which knows no GIL.
PROGRAM = """
import seismo
from seismo import _core
def leaf(n):
    return [n]
def work():
    for _ in range(20):
        for n in range(20): leaf(n)
        time.sleep(0.0005)
def forks():
    for _ in range(12):
        helpers.fork_without_the_gil()  # a child that ran Python might wait for a lock of the sanitizer's
        time.sleep(0.003)
def start(recorder, **options):
    fd = os.open(recorder, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
    _core.start(recorder=recorder, fd=fd, flush_ms=1, calibrate=False, **options)
for recorder, options in (("calltree", {}), ("calltree", {"journal": True}), ("linetimes", {})):
    start(recorder, rate=5000, **options)
    with seismo.watch('call("leaf")', "count", record="w.seismo") as watch:
        for _ in range(3):
            start("coverage", counts=True)
            in_threads(work, work, work, work, forks)
            _core.flush()
            _core.stop(recorder="coverage")
    _core.stop()
    assert watch.count == 3 * 4 * 20 * 20
    assert min(map(os.path.getsize, (recorder, "coverage", "w.seismo"))) > 100
print("done")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """run(program) -> the finished process, whose core is built with ThreadSanitizer."""
    folder = extensions.shared(tmp_path_factory, "workers")
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    library = subprocess.check_output([compiler, "-print-file-name=libtsan.so"], text=True).strip()
    (folder / "meant").write_text(MEANT)
    (folder / "helpers.c").write_text(HELPERS)
    under = {
        **children.environment(),
        "PYTHONPATH": f"{folder}:{COMMON}",
        "LD_PRELOAD": library,
        "TSAN_OPTIONS": f"exitcode={RACE} die_after_fork=0 suppressions={folder / 'meant'}",
    }
    if children.python("-c", "", env=under, status=None).returncode:
        pytest.skip("programs with ThreadSanitizer do not run here")

    def build():
        others = dict.fromkeys(("SEISMO_SANITIZE", "SEISMO_WERROR", "LD_PRELOAD"), "")
        env = children.environment(CC=compiler, CFLAGS=f"-O0 -g1 {THREAD}", LDFLAGS=THREAD, **others)
        words = ["setup.py", "-q", "build_ext", "--build-lib", str(folder), "--build-temp", str(folder / "temp")]
        with children.popen([sys.executable, *words], cwd=ROOT, env=env) as child:
            _, err = children.ended(child, 600)
        assert child.returncode == 0, err
        shutil.copytree(SOURCE / "seismo", folder / "seismo", ignore=shutil.ignore_patterns("*.so"), dirs_exist_ok=True)

    extensions.once(folder / "seismo", build)
    helpers = extensions.library(folder / "helpers.c", folder, THREAD)

    def run(program):
        return children.python(
            "-c", PRELUDE + program, helpers, cwd=tmp_path_factory.mktemp("run"), env=under, status=None
        )

    return run


def test_no_two_threads_touch_what_only_one_may(run):
    done = run(PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_race_is_found(run):
    done = run("in_threads(helpers.add_plainly, helpers.add_plainly)")
    assert done.returncode == RACE
    assert "data race" in done.stderr
    assert "add_plainly" in done.stderr
