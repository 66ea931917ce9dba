"""`seismo check` on the command line: programs that did not change, that did, and that fail; files and revisions."""

import json
import os
import re
import signal
import xml.etree.ElementTree as ET

import children
import jsonschema
import pytest
from paths import DOCS, SOURCE
from repositories import commit, git

import seismo
from seismo.check import counted_runs
from seismo.check.baseline import read
from seismo.check.measurement import Function, Range
from seismo.errors import CheckError
from seismo.process.objects.recorder import why_not

VALIDATOR = jsonschema.Draft202012Validator(json.loads((DOCS / "report-schema.json").read_text()))
APP = """\
def load(n):
    rows = []
    for number in range(n):
        rows.append(parse(number))
    return rows


def parse(number):
    return clean(str(number))


def clean(text):
    return text.strip()
"""
RUN = "import sys\nfrom app import load\nprint(len(load(int(sys.argv[1]))))\n"
MORE = APP.replace("        rows.append", "        parse(number)\n        rows.append")
LIMITS = ["--no-objects", "--runs", "1", "--limit", "calls <= +1%", "--limit", "lines <= +1%"]


def made(folder):
    """A repository with one revision, main."""
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "__init__.py").write_text(APP)
    (folder / "run.py").write_text(RUN)
    commit(folder)
    return folder


@pytest.fixture
def project(tmp_path):
    return made(tmp_path / "project")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The baseline of `run.py 50`."""
    folder = made(tmp_path_factory.mktemp("written") / "project")
    check(folder, *LIMITS, "--update", "run.py", "50")
    return (folder / "seismo-check.txt").read_text()


@pytest.fixture
def kept(project, written):
    """The project with its baseline."""
    (project / "seismo-check.txt").write_text(written)
    return project


def check(folder, *words, **more):
    return children.reading("check", *words, cwd=folder, **more)


def counted(folder, name="parse"):
    """The counts of a function of the app in the baseline."""
    return read(folder / "seismo-check.txt").functions[Function("app", name, "app/__init__.py")]


def found(folder, *words, status=0, **more):
    """The rows of each section of the result as JSON."""
    done = check(folder, "--format", "json", *words, status=status, **more)
    document = json.loads(done.stdout)
    VALIDATOR.validate(document)
    assert (document["kind"], document["totals"]["status"]) == ("check", status)
    sections = {name: section["rows"] for name, section in document["sections"].items()}
    return {"facts": document["facts"], "unsteady": [], **sections}


def test_a_program_that_did_not_change_is_within(project):
    done = check(project, "--no-objects", "--against", "main", "run.py", "50")
    assert "within all limits" in done.stdout
    assert "use --time for those" in done.stdout
    assert done.stdout.startswith("50\n"), "the program's output is its own, and shown once"
    assert done.stdout.count("50\n") == 1
    assert git(project, "worktree", "list").count("\n") == 1, "the checkout is removed"


@pytest.mark.parametrize("edited", [MORE, APP.replace("append(parse", "append(parse(number) and parse")])
def test_a_file_names_the_function_that_changed_and_no_edge_that_it_does_not_know(kept, edited):
    (kept / "app" / "__init__.py").write_text(edited)
    result = found(kept, *LIMITS, "--format", "text=result.txt", "run.py", "50", status=1)
    (suspect,) = result["suspects"]
    assert suspect["function"]["qualname"] == "load"
    assert suspect["called"] == suspect["callers"] == suspect["lines"] == []
    below = {one["qualname"]: counts["calls"] for one, counts in suspect["below"]}
    assert below["parse"] == [[50, 50], [100, 100]]
    (remark,) = [one["text"] for one in result["facts"] if one["label"] == "remark"]
    assert "--against REV shows which calls grew" in remark
    assert not re.search(r"\b0 -> ", (kept / "result.txt").read_text())


@pytest.mark.skipif(bool(why_not()), reason="births cannot be recorded here")
def test_a_needless_copy_is_found_by_its_births(project):
    (project / "app" / "__init__.py").write_text(APP.replace("text.strip()", '"".join([*text]).strip()'))
    result = found(project, "--limit", "births <= +1%", "--runs", "1", "--against", "main", "run.py", "500", status=1)
    assert result["suspects"][0]["function"]["qualname"] == "clean"
    assert result["suspects"][0]["counts"]["births"][1][0] >= 1000


def test_less_is_told_and_update_takes_it(project):
    for text, told in ((MORE, "nothing to compare with"), (APP, "less than before"), (MORE, "look at these first")):
        (project / "app" / "__init__.py").write_text(text)
        # What has become the baseline is not beyond it.
        assert told in check(project, *LIMITS, "--update", "run.py", "50").stdout
    assert counted(project)["calls"] == Range(100, 100)


def test_the_file_is_the_same_each_time(project, written):
    check(project, *LIMITS, "--update", "run.py", "50", PYTHONHASHSEED="2")
    assert (project / "seismo-check.txt").read_text() == written


def test_a_program_whose_code_was_just_written_counts_as_one_with_its_pyc(project):
    writing = {"PYTHONDONTWRITEBYTECODE": ""}
    check(project, *LIMITS, "--update", "run.py", "50", **writing)
    assert list((project / "app").glob("__pycache__/*.pyc"))
    for path in (project / "app").glob("__pycache__/*.pyc"):
        path.unlink()
    result = found(project, *LIMITS, "run.py", "50", **writing)
    assert all(one["old"] == one["new"] for one in result["findings"])


def changing(tmp_path, step):
    """A program that calls parse() a different number of times whenever it runs: 0, 1 or 2 steps and one more."""
    return f"""\
import os
from app import parse
with open({str(tmp_path / "runs")!r}, "a") as runs:
    runs.write("x")
for _ in range({step} * (os.path.getsize(runs.name) % 3) + 1):
    parse(1)
"""


def test_what_differs_from_run_to_run_is_listed_and_left_out(project, tmp_path):
    (project / "run.py").write_text(RUN + changing(tmp_path, 700))
    commit(project)
    result = found(project, "--no-objects", "--limit", "each calls <= +1%", "--against", "main", "run.py", "10")
    assert {one["subject"]["qualname"] for one in result["unsteady"]} >= {"parse", "clean"}


def test_where_all_differs_it_says_that_it_cannot_decide(project, tmp_path):
    (project / "run.py").write_text(changing(tmp_path, 7000))
    commit(project)
    done = check(project, "--no-objects", "--against", "main", "run.py", status=2)
    assert "cannot decide" in done.stdout
    assert re.search(r"\d+% differs from run to run", done.stdout)
    assert "app:parse" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run.py"], "there is nothing to compare with"),
        (["--against", "nowhere", "run.py", "5"], "neither a file nor a revision"),
        (["--against", "run.py", "run.py", "5"], "not a baseline of seismo check"),
        (["--against", "main", "--update", "run.py", "5"], "names a revision"),
        (["--build", "true", "run.py", "5"], "--build is for a revision"),
        (["--limit", "walls <= 1", "run.py", "5"], "cannot be counted"),
        (["--sizes", "n=5", "run.py", "5"], "sizes cannot be read"),
        (["--format", "yaml", "run.py", "5"], "--format cannot be"),
        (["-"], "standard input"),
        (["--time", "--update", "run.py", "5"], "a file has no times"),
    ],
)
def test_bad_words_are_told_in_a_line(project, words, said):
    assert said in check(project, *words, status=2).stderr


def test_a_program_that_fails_is_shown_and_nothing_is_written(project):
    (project / "run.py").write_text("print('so far')\nraise ValueError('no rows')\n")
    done = check(project, "--update", "run.py", status=2)
    assert "so far" in done.stdout
    assert "ValueError: no rows" in done.stderr
    assert 'run.py", line 2' in done.stderr
    assert "failed with exit status 1" in done.stderr
    assert not (project / "seismo-check.txt").exists()


def test_counts_that_are_not_whole_decide_nothing(tmp_path):
    """A piece that was changed on its way to the disk is left out by the reader, and so are the counts in it."""
    with seismo.profile(c_functions="none") as session:
        for number in range(50):
            str(number)
    path = tmp_path / "counted.seismo"
    data = bytearray(session.recording.to_bytes())
    path.write_bytes(data)
    assert not counted_runs.read_counted(path).problems
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(CheckError, match="cannot be read completely"):
        counted_runs.read_counted(path)


FULL = """\
import os, resource, sys
sys.dont_write_bytecode = True
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
def work(): exec(compile("x = 1\\n" * 100_000, "run.py", "exec"))
"""


@pytest.mark.parametrize("full", ["the program's disk", "a child's disk"])
def test_lines_that_cannot_be_written_are_not_passed_over(project, full):
    """The calls fit into their file and the lines do not."""
    end = "work()\n" if full == "the program's disk" else "if not os.fork(): work()\nelse: os.wait()\n"
    (project / "run.py").write_text(FULL + end)
    done = check(project, "--no-objects", "--update", "run.py", status=2)
    assert "the counts cannot be read completely" in done.stderr
    assert "its last writes failed" in done.stderr


def test_a_program_that_fails_at_the_other_revision_says_where(project):
    (project / "run.py").write_text("import app\nassert app.new\n")
    (project / "app" / "__init__.py").write_text(APP + "new = 1\n")
    done = check(project, *LIMITS, "--against", "main", "-c", "import app; app.new", status=2)
    assert "failed with exit status 1 at main" in done.stderr
    assert "AttributeError" in done.stderr


def test_a_baseline_of_another_program_or_version_is_refused(kept):
    assert "of another program" in check(kept, *LIMITS, "run.py", "51", status=2).stderr
    path = kept / "seismo-check.txt"
    path.write_text(re.sub(r"^python .*$", "python 3.1.4", path.read_text(), flags=re.MULTILINE))
    assert "Python was 3.1.4 and is" in check(kept, *LIMITS, "run.py", "50", status=2).stderr
    assert "other versions" in check(kept, *LIMITS, "--tolerate", "5", "run.py", "50").stdout


def test_a_baseline_of_another_seismo_is_compared_or_replaced(kept, written):
    path = kept / "seismo-check.txt"
    path.write_text(re.sub(r"^seismo .*$", "seismo 0.0.1", written, flags=re.MULTILINE))
    assert "seismo 0.0.1 wrote the baseline, and this is" in check(kept, *LIMITS, "run.py", "50").stdout
    path.write_text(written.replace("format 1\n", "format 2\n"))
    refused = check(kept, *LIMITS, "run.py", "50", status=2)
    assert "another version of seismo wrote this baseline: it has format '2', and this one reads 1" in refused.stderr
    assert "--update" in refused.stderr
    check(kept, *LIMITS, "--update", "run.py", "50")
    assert path.read_text() == written
    check(kept, *LIMITS, "--update", "--against", "run.py", "run.py", "50", status=2)
    assert (kept / "run.py").read_text() == RUN, "what is no baseline is not written over"


def test_an_installed_copy_that_shadows_the_checkout_is_refused(project, tmp_path):
    site = tmp_path / "lib" / "site-packages"
    (site / "app").mkdir(parents=True)
    (site / "app" / "__init__.py").write_text(APP)
    (project / "bench").mkdir()
    (project / "bench" / "run.py").write_text(RUN)
    commit(project)
    done = check(project, *LIMITS, "--against", "main", "bench/run.py", "5", status=2, PYTHONPATH=f"{SOURCE}:{site}")
    assert "an installed copy was imported instead" in done.stderr
    assert "PYTHONPATH" in done.stderr


def test_a_project_on_the_path_is_turned_to_the_checkout(project):
    (project / "src").mkdir()
    git(project, "mv", "app", "src/app")
    git(project, "commit", "-q", "-m", "src")
    (project / "src" / "app" / "__init__.py").write_text(MORE)
    path = f"{SOURCE}:{project / 'src'}"
    done = check(project, *LIMITS, "--against", "main", "run.py", "50", status=1, PYTHONPATH=path)
    assert "1. app:load" in done.stdout


def test_a_build_that_is_needed_runs_in_the_checkout(project):
    (project / ".gitignore").write_text("made.py\n")
    (project / "run.py").write_text("import made, app\napp.load(made.N)\n")
    commit(project)
    (project / "made.py").write_text("N = 50\n")
    check(project, *LIMITS, "--against", "main", "run.py", status=2)
    check(project, *LIMITS, "--against", "main", "--build", "echo N = 50 > made.py", "run.py")
    failing = check(project, *LIMITS, "--against", "main", "--build", "echo broken; exit 3", "run.py", status=2)
    assert "the build at main failed with exit status 3" in failing.stderr
    assert "broken" in failing.stderr


def test_a_script_that_is_new_runs_on_both_sides(project):
    (project / "bench.py").write_text(RUN)
    (project / "app" / "__init__.py").write_text(MORE)
    done = check(project, *LIMITS, "--against", "main", "bench.py", "50", status=1)
    assert "bench.py does not exist at main" in done.stdout


@pytest.mark.matrix
def test_sizes_say_what_became_worse_than_linear(project):
    (project / "app" / "__init__.py").write_text(
        APP.replace(
            "for number in range(n):",
            "for number in range(n):\n        rows.sort(key=parse) if n < 0 else [clean('x') for row in rows]",
        )
    )
    done = check(project, *LIMITS, "--against", "main", "--sizes", "n=20,40,80", "run.py", "{n}", status=1)
    assert "became worse than linear" in done.stdout
    assert re.search(r"app:clean: quadratic, was linear; (calls|lines) .* for 20, 40, 80", done.stdout)


STARTING = """\
import multiprocessing, os, subprocess, sys, app
child = [sys.executable, "child.py"]
if __name__ == "__main__":
    app.load(1)
    os.fork() or (app.load(30), os._exit(0)); os.wait()
    subprocess.run(child, check=True)
    os.system(" ".join(child))
    one = multiprocessing.get_context("spawn").Process(target=app.load, args=(30,)); one.start(); one.join()
    os.execv(sys.executable, child)
"""


def test_processes_that_are_started_count_too(project):
    (project / "child.py").write_text("import app\napp.load(30)\n")
    (project / "run.py").write_text(STARTING)
    check(project, "--no-objects", "--runs", "1", "--update", "run.py")
    assert counted(project)["calls"] == Range(151, 151)
    assert counted(project)["lines"] == Range(151, 151), "lines have a file for each process"


@pytest.mark.skipif(bool(why_not()), reason="births cannot be recorded here")
def test_births_in_processes_that_are_started_count_too(project):
    (project / "app" / "__init__.py").write_text(
        "class One: pass\n\ndef load(n):\n    return [One() for _ in range(n)]\n"
    )
    (project / "run.py").write_text(
        "import subprocess, sys, app\napp.load(20)\n"
        "subprocess.run([sys.executable, '-c', 'import app; app.load(300)'], check=True)\n"
    )
    check(project, "--runs", "1", "--update", "run.py")
    assert counted(project, "load")["births"].low >= 320


def test_processes_that_still_run_at_the_end_are_told_and_left_out(project):
    (project / "run.py").write_text(
        "import os, signal, subprocess, sys, app\napp.load(20)\n"
        "code = 'import app, sys, time; app.load(30); print(1, flush=True); time.sleep(600)'\n"
        "one = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        "one.stdout.readline()\nopen(f'pid-{os.getpid()}', 'w').write(str(one.pid))\n"
    )
    try:
        done = check(project, *LIMITS, "--update", "run.py")
    finally:
        for path in project.glob("pid-*"):
            os.kill(int(path.read_text()), signal.SIGKILL)
    assert "processes that still ran when the program had ended are not counted: 1" in done.stdout
    assert counted(project)["calls"] == Range(20, 20)
    assert counted(project)["lines"] == Range(20, 20)


@pytest.mark.matrix
def test_benchmarks_of_pyperf_run_once_by_its_option(project):
    (project / "run.py").write_text(
        "import app, pyperf\nrunner = pyperf.Runner()\nrunner.bench_func('load', app.load, 40)\n"
        "runner.timeit('parse', 'app.parse(1)', globals=globals())\n"
    )
    check(project, "--no-objects", "--runs", "1", "--update", "run.py", "--debug-single-value")
    assert counted(project)["calls"] == Range(41, 41)


@pytest.mark.matrix
def test_lines_of_libraries_count_when_asked(project):
    (project / "run.py").write_text("import textwrap\ntextwrap.dedent('  a')\n")
    words = ("--no-objects", "--runs", "1")
    check(project, *words, "--lines", "all", "--update", "run.py")
    functions = read(project / "seismo-check.txt").functions
    assert [counts["lines"].low > 3 for name, counts in functions.items() if str(name) == "textwrap:dedent"] == [True]
    refused = check(project, *words, "run.py", status=2)
    assert "lines were counted of all files and are counted of own files" in refused.stderr
    check(project, *words, "--lines", "all", "run.py")


@pytest.mark.matrix
def test_the_time_decides_when_asked(project):
    (project / "run.py").write_text("print(sum(range(10_000)))\n")
    commit(project)
    (project / "run.py").write_text("print(sum(range(10_000_000)))\n")
    seen = check(project, *LIMITS, "--time", "--against", "main", "run.py", status=1)
    assert "it takes longer" in seen.stdout
    assert "CPU time" in seen.stdout


def test_hostile_names_harm_no_form(project, tmp_path):
    name = "a`b|c<script>]]>&\\x1b[31m::error::"
    (project / "app" / "__init__.py").write_text(
        APP
        + "\ndef evil():\n    return 1\n"
        + f"evil.__code__ = evil.__code__.replace(co_name={name!r}, co_qualname={name!r})\n"
    )
    (project / "run.py").write_text("import app\napp.load(5)\napp.evil()\n")
    commit(project)
    (project / "run.py").write_text("import app\napp.load(5)\nfor _ in range(50): app.evil()\n")
    files = {kind: tmp_path / f"out.{kind}" for kind in ("text", "markdown", "github", "junit", "json")}
    formats = [word for kind, path in files.items() for word in ("--format", f"{kind}={path}")]
    check(project, *LIMITS, "--limit", "each calls <= +1%", *formats, "--against", "main", "run.py", status=1)
    assert int(ET.fromstring(files["junit"].read_text()).get("failures")) >= 1
    text = files["markdown"].read_text()
    assert "| beyond its limit |" in text
    for line in text.splitlines():
        if line.startswith("| ") and line.count("|") > 6:
            assert line.count("|") - line.count("\\|") == 7
    assert not re.search(r"^::error::", files["github"].read_text(), re.MULTILINE)
    assert all(line.startswith("::") for line in files["github"].read_text().splitlines())
    assert "\x1b" not in "".join(path.read_text() for path in files.values())
    VALIDATOR.validate(json.loads(files["json"].read_text()))
