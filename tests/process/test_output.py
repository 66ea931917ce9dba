"""The file of a recording: whose it is, what it may take the place of, and what it says when it was cut short."""

import json
import os
import re
import signal
import stat
import sys
from datetime import UTC, datetime

import children
import pytest

from seismo.errors import RecordingError
from seismo.model import merge, read
from seismo.process.output_file import MAGIC, Output, child_output, replace
from seismo.process.secrets import MASK, masked

RUN = [sys.executable, "-m", "seismo", "profile", "-q", "-o", "a.seismo"]


def seismo(*words, cwd, **options):
    return children.seismo(*words, cwd=cwd, **options, status=None)


# ---- whose it is ----


def test_for_its_owner_only(tmp_path):
    done = seismo("profile", "-o", "a.seismo", "--children", "-c", "import os; print(os.listdir('.'))", cwd=tmp_path)
    assert "a.seismo.parts" in done.stdout
    assert stat.S_IMODE((tmp_path / "a.seismo").stat().st_mode) == 0o600


def test_what_looks_secret_among_the_arguments(tmp_path):
    (tmp_path / "app.py").write_text("")
    words = ["--password=hunter2", "--api-key", "hunter2", "TOKEN=hunter2", "https://me:hunter2@host/x", "--out", "x"]
    assert seismo("profile", "-q", "-o", "a.seismo", "app.py", *words, cwd=tmp_path).returncode == 0
    seismo("watch", "call", "--count", "--record", "w.seismo", "app.py", *words, cwd=tmp_path)
    for name in ("a.seismo", "w.seismo"):
        assert b"hunter2" not in (tmp_path / name).read_bytes()
        argv = json.loads(read(tmp_path / name).processes[0].argv)
        assert argv[-7:] == [word.replace("hunter2", "***") for word in words]


def test_arguments_are_kept_whatever_their_characters(tmp_path):
    words = ["plain", 'a "b" \\ c', "tab\tline\nbell\a\x7f", "é\u2028\N{SNAKE}", ""]
    seismo("profile", "-q", "-o", "a.seismo", "-c", "pass", *words, cwd=tmp_path)
    assert json.loads(read(tmp_path / "a.seismo").processes[0].argv)[-len(words) :] == words


@pytest.mark.parametrize(
    "words", ["app.py tokens.txt", "-m auth", "--no-cookies -v", "a=b", "http://host/a:b@c", "-c password()"]
)
def test_what_does_not_look_secret_stays(words):
    assert masked(words.split()) == words.split()


def test_a_header_and_an_option_without_a_value():
    assert masked(["-H", "Authorization: Basic abc", "--token"]) == ["-H", f"Authorization:{MASK}", "--token"]


# ---- what it may take the place of ----


def test_a_second_run_into_it_is_refused(tmp_path):
    with children.popen([*RUN, "-c", "print(1, flush=True); input()"], cwd=tmp_path) as first:
        first.stdout.readline()
        second = seismo("profile", "-o", "a.seismo", "-c", "pass", cwd=tmp_path)
        assert second.returncode == 2
        assert "another run is writing into this file" in second.stderr
        first.communicate("\n")
    assert read(tmp_path / "a.seismo").problems == []
    assert seismo("profile", "-q", "-o", "a.seismo", "-c", "pass", cwd=tmp_path).returncode == 0


def test_a_killed_run_holds_nothing(tmp_path):
    kill = "import os; os.kill(os.getpid(), 9)"
    assert seismo("profile", "-q", "-o", "a.seismo", "-c", kill, cwd=tmp_path).returncode == -9
    assert seismo("profile", "-q", "-o", "a.seismo", "-c", "pass", cwd=tmp_path).returncode == 0


def test_a_link_to_nowhere_is_not_followed(tmp_path):
    (tmp_path / "a.seismo").symlink_to(tmp_path / "made")
    done = seismo("profile", "-o", "a.seismo", "-c", "pass", cwd=tmp_path)
    assert done.returncode == 2
    assert "link to a file that does not exist" in done.stderr
    assert not (tmp_path / "made").exists()


def test_a_planted_link_is_not_written_through(tmp_path):
    """Neither where a forked child's recording goes nor beside the file when it is written once more."""
    precious = tmp_path / "precious"
    precious.write_bytes(MAGIC)
    parent, child = 5, 7
    (tmp_path / "a-7.seismo").symlink_to(precious)
    output = child_output(str(tmp_path / "a.seismo"), parent, child)
    assert output.path == str(tmp_path / "a-7-1.seismo")
    output.discard()
    (tmp_path / f"a.seismo.{os.getpid()}.tmp").symlink_to(precious)
    replace(str(tmp_path / "a.seismo"), b"content")
    assert precious.read_bytes() == MAGIC
    assert (tmp_path / "a.seismo").read_bytes() == b"content"
    assert stat.S_IMODE((tmp_path / "a.seismo").stat().st_mode) == 0o600


def test_what_can_only_be_written_is_not_emptied(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"precious")
    real = os.open

    def write_only(name, flags, *more):
        if flags & os.O_ACCMODE == os.O_RDWR:
            raise PermissionError
        return real(name, flags, *more)

    monkeypatch.setattr(os, "open", write_only)
    with pytest.raises(RecordingError, match="not a recording"):
        Output(str(path))
    assert path.read_bytes() == b"precious"


# ---- at the end ----

WORK = "def work(): pass\nwork()\n"


def test_a_program_that_closes_what_it_does_not_know(tmp_path):
    program = f"import os; os.closerange(3, 2000)\n{WORK}"
    assert "incomplete" not in seismo("profile", "-o", "a.seismo", "-c", program, cwd=tmp_path).stderr
    recording = read(tmp_path / "a.seismo")
    assert recording.problems == []
    assert "work" in list(recording.functions["qualname"])


LEAVES = {
    "chroot": "os.mkdir('jail'); os.chroot('jail'); os.chdir('/')",
    "setuid": "os.chmod('.', 0o700); os.setuid(65534)",
    "setresuid": "os.chmod('.', 0o700); os.setresuid(65534, 65534, 65534)",
}


@pytest.mark.crossed
@pytest.mark.skipif(os.getuid() != 0, reason="only root may give up root's rights and change its root")
@pytest.mark.parametrize("how", LEAVES)
@pytest.mark.parametrize("verb", ["profile", "lines", "cover"])
def test_the_end_needs_nothing_that_is_out_of_reach(tmp_path, verb, how):
    """What it needs is loaded before the program leaves, and not in a program that does not."""
    (tmp_path / "app.py").write_text(f"import os, sys\n{LEAVES[how]}\n{WORK}")
    done = seismo(verb, "-o", "a.seismo", "app.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no summary" not in done.stderr
    assert "a.seismo" in done.stderr
    recording = read(tmp_path / "a.seismo")
    assert recording.problems == []
    assert "cut-short" not in list(recording.losses["kind"])
    assert "work" in list(recording.functions["qualname"])


# ---- cut short ----


def test_a_killed_program_says_so_wherever_it_is_read(tmp_path):
    (tmp_path / "app.py").write_text(f"{WORK}print(1, flush=True)\ninput()\n")
    path = tmp_path / "a.seismo"
    with children.popen([*RUN, "--flush", "0.25", "app.py"], cwd=tmp_path) as child:
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    recording = read(path)
    (loss,) = [row for row in recording.losses if row.kind == "cut-short"]
    assert (loss.count, loss.detail) == (1, f"process {child.pid}")
    (process,) = recording.processes
    clock = datetime.fromtimestamp(process.end_ns // 10**8 / 10, UTC)
    said = (
        f"the end is missing (process {child.pid} was killed, could not write, or still runs): "
        f"what it did after {clock:%H:%M:%S}.{clock.microsecond // 10**5} UTC ("
    )
    (tmp_path / "same.seismo").write_bytes(path.read_bytes())
    for words in (["report", "a.seismo"], ["info", "a.seismo"], ["diff", "a.seismo", "same.seismo"]):
        shown = seismo(*words, cwd=tmp_path)
        assert said in re.sub(r"\s+", " ", shown.stdout + shown.stderr), words
    seismo("profile", "-q", "-o", "b.seismo", "app.py", cwd=tmp_path, input="\n")
    merged = merge([read(path), read(tmp_path / "b.seismo")])
    assert [row.detail for row in merged.losses if row.kind == "cut-short"] == [f"process {child.pid}"]


def test_the_part_of_a_killed_child(tmp_path):
    program = "import os, time\npid = os.fork()\nif not pid: os.kill(os.getpid(), 9)\nos.waitpid(pid, 0); print(pid)"
    done = seismo("profile", "-q", "--children", "-o", "a.seismo", "-c", program, cwd=tmp_path)
    losses = [row.detail for row in read(tmp_path / "a.seismo").losses if row.kind == "cut-short"]
    assert losses == [f"process {int(done.stdout)}"]


@pytest.mark.crossed
@pytest.mark.parametrize("verb", ["profile", "trace", "cover"])
@pytest.mark.parametrize("how", ["SIG_DFL", "lambda *_: print('signalled')"])
def test_a_limit_of_file_sizes_sends_the_program_no_signal(tmp_path, verb, how):
    """A program that would die of its own too long files, or hear of them, does not of ours."""
    program = f"""
import resource, signal, sys
from signal import SIG_DFL
sys.dont_write_bytecode = True  # it would be cut, and later imports would fail
signal.signal(signal.SIGXFSZ, {how})
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
made = {{}}
for n in range(500): exec(f"def function_{{n}}(): pass\\nfunction_{{n}}()", made)
print("done")
"""
    done = seismo(verb, "-o", "a.seismo", "-c", program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "the recording is incomplete: File too large" in done.stderr or verb == "cover"
