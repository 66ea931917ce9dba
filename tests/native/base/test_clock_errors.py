"""How far a recording's clock may be from the true time, by clocks of a system that the test invents."""

import ctypes
import shutil
import subprocess

import pytest
from paths import ROOT

COMPILER = shutil.which("cc") or shutil.which("gcc")
MS, SECOND, DAY = 10**6, 10**9, 10**18
SOURCE = """
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <time.h>

static int64_t monotonic, unix_time, bound;

static int read_clock(clockid_t clock, struct timespec *now) {
    int64_t ns = clock == CLOCK_REALTIME ? unix_time : monotonic;
    *now = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

static int read_bound(struct timex *state) {
    state->maxerror = bound / 1000;
    return bound > 0 ? TIME_OK : TIME_ERROR;
}

#define clock_gettime read_clock
#define adjtimex read_bound
#define prctl(...) 0
#include "base/time.c"

static sm_moment start;
static sm_clock_error kept;

int64_t look(int first, int64_t at, int64_t off, int64_t kernels) {
    monotonic = at, unix_time = DAY + at + off, bound = kernels;
    if (first) {
        start = sm_moment_now();
        sm_clock_error_begin(&kept, &start);
    } else {
        sm_clock_error_look(&kept, &start);
    }
    return kept.most_ns;
}
"""


@pytest.fixture(scope="module")
def most(tmp_path_factory):
    """most(looks) -> the bound after each of some looks: (ns of time, what the time of day is off, kernel's bound)."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("time")
    (folder / "time.c").write_text(SOURCE)
    flags = ["-std=c11", "-D_GNU_SOURCE", f"-DDAY={DAY}", "-shared", "-fPIC", "-pthread", f"-I{ROOT / 'native'}"]
    subprocess.run([COMPILER, *flags, "-o", folder / "time.so", folder / "time.c"], check=True)
    look = ctypes.CDLL(str(folder / "time.so")).look
    look.restype, look.argtypes = ctypes.c_int64, [ctypes.c_int, *[ctypes.c_int64] * 3]
    return lambda *looks: [look(number == 0, *numbers) for number, numbers in enumerate(looks)]


@pytest.mark.parametrize(
    ("looks", "bounds"),
    [
        pytest.param([(0, 0, MS), (SECOND, 0, MS)], [MS, MS + SECOND // 2000], id="it grows between two looks"),
        pytest.param([(0, 0, MS), (SECOND, 0, 4 * MS), (2 * SECOND, 0, MS)], [MS, 4 * MS, 9 * MS // 2], id="the most"),
        pytest.param([(0, 0, MS), (SECOND, -70 * MS, 2 * MS)], [MS, 72 * MS], id="the time of day was set"),
        pytest.param([(0, 0, MS), (SECOND, 0, 0), (2 * SECOND, 0, MS)], [MS, 0, 0], id="unknown for a while"),
        pytest.param([(0, 0, 0), (SECOND, 0, MS)], [0, 0], id="unknown at the start"),
    ],
)
def test_the_bound_covers_all_that_was_seen(most, looks, bounds):
    assert most(*looks) == bounds
