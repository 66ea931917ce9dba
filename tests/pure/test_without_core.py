"""seismo without its native core, as the wheel for other platforms installs it."""

import shutil
from pathlib import Path

import pytest
from children import environment, python, seismo
from paths import ROOT

import seismo as package

HERE = Path(package.__file__).parent
MORE = [pytest.param(verb, marks=pytest.mark.matrix) for verb in ("trace", "lines", "cover", "objects")]
NOTE = "seismo: seismo has no native core on this platform: it reads recordings in plain Python, which takes longer\n"


@pytest.fixture(scope="module")
def without_core(tmp_path_factory):
    """The environment of a Python that finds a copy of the package without the core."""
    folder = tmp_path_factory.mktemp("pure")
    shutil.copytree(HERE, folder / "seismo", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return environment() | {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    file = tmp_path_factory.mktemp("recording") / "r.seismo"
    seismo("trace", "-q", "-o", file, "-c", "def f(): return 1\nfor _ in range(3): f()")
    return file


def ran(env, *words, status=0):
    return python("-m", "seismo", *words, env=env, status=status)


@pytest.mark.parametrize(
    "words",
    [("report",), ("report", "--tree"), ("info",), ("export", "-f", "json", "-o", "-")],
)
def test_commands_print_what_they_print_with_the_core(without_core, recording, words):
    verb, *options = words
    done = ran(without_core, verb, recording, *options)
    assert done.stdout == seismo(verb, recording, *options).stdout
    assert done.stderr == NOTE


def test_recordings_are_merged_and_compared(without_core, recording, tmp_path):
    ran(without_core, "merge", recording, recording, "-o", tmp_path / "both.seismo")
    functions = package.open(tmp_path / "both.seismo").functions
    assert dict(zip(functions["qualname"], functions["calls"], strict=True))["f"] == 6
    done = ran(without_core, "diff", recording, tmp_path / "both.seismo")
    assert done.stdout == seismo("diff", recording, tmp_path / "both.seismo").stdout


@pytest.mark.parametrize("verb", ["profile", "check", *MORE])
def test_recording_is_refused_with_a_sentence(without_core, verb, tmp_path):
    done = ran(without_core, verb, "-c", "print('ran')", status=2)
    assert done.stdout == ""
    assert "cannot record on this platform" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_session_is_refused(without_core):
    program = "import seismo\ntry:\n    seismo.profile().__enter__()\nexcept seismo.SeismoError as e: print(e.what)"
    assert "cannot record on this platform" in python("-c", program, env=without_core).stdout


def test_doctor_states_it(without_core):
    done = ran(without_core, "doctor", status=1)
    assert "core is not installed" in " ".join(done.stdout.split())


def test_calls_of_a_trace_are_queried(without_core, recording):
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    done = ran(without_core, "query", recording, "select count(*) as n from calls", "--format", "csv")
    assert done.stdout == seismo("query", recording, "select count(*) as n from calls", "--format", "csv").stdout


def test_a_trace_is_viewed_as_a_page_of_calls(without_core, recording):
    program = f"""
import json, seismo
from seismo.view.routes import Routes, ServedRecording
routes = Routes([ServedRecording({str(recording)!r}, seismo.open({str(recording)!r}))])
print(json.loads(routes("recordings", {{}}).content)[0]["trace"], b"<html" in routes("0/page", {{}}).content)
"""
    assert python("-c", program, env=without_core).stdout == "False True\n"


def test_what_needs_the_core_is_named(without_core, recording, tmp_path):
    done = ran(without_core, "export", recording, "-o", tmp_path / "part.seismo", "--from", "0", "--to", "1", status=2)
    assert "cannot cut a part out of a trace" in done.stderr


@pytest.mark.matrix
def test_the_wheel_is_for_every_platform(tmp_path):
    for name in ("native", "src"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
        )
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    words = ["pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "made", "."]
    python("-m", *words, cwd=tmp_path, env=environment(SEISMO_PURE="1"))
    [wheel] = (tmp_path / "made").iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    shutil.unpack_archive(wheel, tmp_path / "unpacked", "zip")
    assert (tmp_path / "unpacked" / "seismo" / "_core.py").is_file()
    assert (tmp_path / "unpacked" / "seismo" / "pure" / "reader.py").is_file()
    assert not list((tmp_path / "unpacked").rglob("*.so"))
