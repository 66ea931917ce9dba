"""The processor's pace from single readings, some of which something came in between of."""

import shutil
import subprocess

import pytest
from paths import ROOT

COMPILER = shutil.which("cc") or shutil.which("gcc")

PROGRAM = r"""
#include <stdio.h>
#include <string.h>

#include "base/pace.h"

static double measured(const sm_clock *clock, int usual, int rare, int every) {
    sm_pace_readings readings = {.count = 0};
    for (int i = 0; i < 8; i++) {
        sm_pace_simulate(i % every == 0 ? rare : usual, 0);
        sm_pace_gather(&readings, clock);
    }
    return sm_pace_scale(&readings);
}

static void note(const sm_clock *clock, double ms, bool disturbed, int reading) {
    sm_pace_simulate(0, reading);
    sm_pace_note(clock, (uint64_t)(ms * 1e6), disturbed);
}

int main(int argc, char **argv) {
    const sm_clock clock = {.ns_per_tick = 1.0};
    if (argc > 1 && strcmp(argv[1], "scale") == 0) {
        double first = measured(&clock, 1000, 1000, 8), rare = measured(&clock, 1000, 1400, 4);
        printf("%.3f %.3f %.3f\n", first, rare, measured(&clock, 1500, 2000, 4));
        sm_pace_forget();
        (void)measured(&clock, 1000, 1400, 4);
        printf("%.0f\n", sm_pace_calibrated());
    } else {
        (void)measured(&clock, 1000, 1000, 8);
        sm_pace_begin();
        note(&clock, 1, false, 1200);
        note(&clock, 2, false, 5000);  /* not due yet */
        note(&clock, 4, true, 5000);   /* the caches hold what others do */
        note(&clock, 5, false, 1400);
        note(&clock, 8, false, 2500);  /* nobody else says so */
        printf("%.0f %.2f\n", sm_pace_mean(), sm_pace_factor());
        note(&clock, 24, true, 1300);  /* overdue: better than none */
        printf("%.0f\n", sm_pace_mean());
        note(&clock, 27, false, 2600); /* a slow spell */
        note(&clock, 30, false, 2000);
        printf("%.0f\n", sm_pace_mean());
        sm_pace_begin();
        note(&clock, 1, false, 1700);  /* the only one */
        printf("%.0f\n", sm_pace_mean());
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """run(part) -> the lines that the part of the program says."""
    if not COMPILER:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("pace")
    (folder / "program.c").write_text(PROGRAM)
    sources = [str(folder / "program.c"), *(str(ROOT / f"native/base/{name}.c") for name in ("pace", "clock", "time"))]
    command = [COMPILER, "-std=c11", "-D_GNU_SOURCE", "-O1", f"-I{ROOT / 'native'}", "-o", str(folder / "pace")]
    subprocess.run([*command, *sources], check=True)
    return lambda part: subprocess.run([folder / "pace", part], capture_output=True, text=True).stdout.splitlines()


def test_a_calibration_does_not_depend_on_a_single_reading(run):
    """One of eight readings that was 1.4 times too long made what was measured 1.2 times too cheap."""
    assert run("scale") == ["1.000 1.000 0.667", "1000"]


def test_the_pace_of_a_recording_is_not_noted_where_others_have_just_filled_the_caches(run):
    """Nor is a single reading believed that is far longer than the others, before there are many."""
    assert run("note") == ["1300 1.30", "1300", "1633", "1700"]
