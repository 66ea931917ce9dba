"""Forked children, and with --children every process that a program starts."""

from __future__ import annotations

import json
import os
import signal

import pytest

import seismo

# Starts processes in every way there is. Each calls work() so and so often; see COUNTS.
FAMILY = """
import concurrent.futures, multiprocessing, os, subprocess, sys

def work(n=1):
    return n

def task(n):
    for i in range(10):
        work(i)
    return n

def main():
    work()
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        process = context.Process(target=task, args=(1,))
        process.start()
        process.join()
        print(method, process.exitcode)
        pool = context.Pool(2)
        print(pool.map(task, range(4)))
        pool.close()
        pool.join()
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        print(list(executor.map(task, range(3))))
    print(subprocess.run([sys.executable, "leaf.py", "7"]).returncode)
    print(subprocess.run([sys.executable, "leaf.py", "0"], env={"A": "1"}, close_fds=False).returncode)
    print(subprocess.run([sys.executable, "-c", "import leaf"], preexec_fn=lambda: None).returncode)
    if os.fork() == 0:
        task(0)
        os._exit(3)
    print(os.wait()[1])
    if os.fork() == 0:
        task(0)
        os.execv(sys.executable, [sys.executable, "leaf.py", "5"])
    print(os.wait()[1])
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "leaf.py", "6"], {})
    print(os.wait()[1])
    print(os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "leaf.py", "8"]))
    pid = os.posix_spawn(sys.executable, [sys.executable, "leaf.py"], {})
    print(os.waitpid(pid, 0)[1])
    print(os.system(f"{sys.executable} leaf.py"))
    sys.exit(4)

if __name__ == "__main__":
    main()
"""

LEAF = """
import os, sys
def leaf(): pass
for i in range(5): leaf()
print(sys.argv[1:], "PYTHONPATH" in os.environ, [n for n in os.environ if "SEISMO" in n], flush=True)
print("sitecustomize" in sys.modules, [p for p in sys.path if "child_startup" in p], flush=True)
sys.exit(int((sys.argv[1:] or ["0"])[0]))
"""

WORK = 1 + 3 * (10 + 40) + 30 + 10 + 10
LEAVES = 5 * 8


@pytest.fixture
def family(lab):
    lab.write("family.py", FAMILY)
    lab.write("leaf.py", LEAF)
    return lab


def test_all_processes_in_one_file(family):
    assert family.same("family.py", take=("--children",)).status == 4
    calls = family.calls()
    assert calls["leaf"] == LEAVES
    assert calls["work"] == WORK
    assert [path.name for path in family.folder.glob("*.seismo*")] == ["r.seismo"]
    processes = list(family.open().processes)
    (root,) = (process for process in processes if process.argv.endswith('"family.py"]') and process.exit == "4")
    assert sum(process.ppid == root.pid for process in processes) >= 10
    assert len({process.pid for process in processes}) >= 18


def test_a_forked_child_has_a_recording_of_its_own(lab):
    lab.write(
        "x.py",
        "import os\ndef before(): pass\ndef child(): pass\ndef parent(): pass\nbefore()\n"
        "pid = os.fork()\nif pid == 0:\n    child()\n    os._exit(0)\nos.wait()\nparent()\nprint(pid)\n",
    )
    pid = int(lab.profiled("x.py").out)
    calls = lab.calls()
    assert (calls["before"], calls["parent"], calls.get("child", 0)) == (1, 1, 0)
    calls = lab.calls(lab.folder / f"r-{pid}.seismo")
    assert (calls.get("before", 0), calls.get("parent", 0), calls["child"]) == (0, 0, 1)
    ended = lab.run(["-m", "seismo", "profile", "-q", "x.py"])
    assert len(list(lab.folder.glob("x-*.seismo"))) == 2
    assert (lab.folder / f"x-{int(ended.out)}.seismo").exists()


def test_a_forked_child_that_ends_as_the_parent_does(lab):
    """Falls off the end, with atexit handlers and exceptions: the child ends its own recording, and says nothing."""
    lab.write(
        "x.py",
        "import atexit, os\ndef last(): print('last')\natexit.register(last)\n"
        "if os.fork() == 0: raise ValueError('child')\nos.wait()\n",
    )
    bare = lab.bare("x.py")
    profiled = lab.profiled("x.py", quiet=False)
    assert profiled.out == bare.out
    assert profiled.err.startswith(bare.err)
    assert profiled.err.count("seismo report") == 1
    (child,) = lab.folder.glob("r-*.seismo")
    assert lab.calls(child)["last"] == 1


def test_children_of_subprocess_leave_nothing_behind(family):
    start = "subprocess.run([sys.executable, 'leaf.py'], preexec_fn=lambda: None)"
    family.write("x.py", f"import subprocess, sys\nprint({start}.returncode)")
    family.same("x.py")
    assert [path.name for path in family.folder.glob("*.seismo*")] == ["r.seismo"]


def test_fork_with_threads(lab):
    lab.write(
        "x.py",
        "import os, threading, warnings\nwarnings.simplefilter('ignore')\ndef f(): pass\ndef g(): pass\n"
        "stop = threading.Event()\n"
        "def spin():\n    while not stop.wait(0.001): f()\n"
        "threads = [threading.Thread(target=spin) for _ in range(4)]\nfor t in threads: t.start()\n"
        "for i in range(20):\n    if os.fork() == 0:\n        g()\n        os._exit(i)\n    print(os.wait()[1] >> 8)\n"
        "stop.set()\nfor t in threads: t.join()\n",
    )
    lab.same("x.py", take=("--children",))
    assert lab.calls()["g"] == 20


def test_what_a_spawned_child_does_at_its_exit(lab):
    """It is recorded; the exit status is not known, and nothing is made up for it."""
    lab.write(
        "app.py",
        "import atexit, multiprocessing, multiprocessing.util, sys\ndef last(): pass\ndef final(): pass\n"
        "def work():\n    atexit.register(last)\n    multiprocessing.util.Finalize(None, final, exitpriority=1)\n"
        "    sys.exit(3)\n"
        "if __name__ == '__main__':\n    child = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    child.start()\n    child.join()\n    print(child.exitcode)\n",
    )
    assert lab.same("app.py", take=("--children",)).out == "3\n"
    counts = lab.calls()
    assert (counts["work"], counts["last"], counts["final"]) == (1, 1, 1)
    assert sorted(row.exit for row in lab.open().processes) == ["", "0"]


def test_a_pool_that_is_terminated(lab):
    """The workers are killed while they wait: what they did before must be there (forked ones: test_signals.py)."""
    lab.write(
        "x.py",
        "import multiprocessing, time\ndef work(i):\n    time.sleep(0.01)\n    return i\n"
        "if __name__ == '__main__':\n    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        print(pool.map(work, range(8)))\n        time.sleep(0.1)\n",
    )
    lab.same("x.py", take=("--children",))
    assert lab.calls()["work"] == 8


def test_the_environment_is_the_programs_own(lab):
    show = "import json, os, sys; print(json.dumps([sorted(os.environ.items()), sys.path]))"
    program = f"""
import os, subprocess, sys
{show}
def child(*words, **options): print(subprocess.check_output([sys.executable, *words], **options).decode())
child('-c', {show!r})
os.environ['PYTHONPATH'] = '/somewhere'
child('-c', {show!r})
child('-c', {show!r}, env={{'PYTHONPATH': '/else'}})
child('-c', {show!r}, env={{}})
child('-I', '-c', 'print(1)')
"""
    lab.write("x.py", program)
    bare = lab.bare("x.py")
    profiled = lab.profiled("x.py", take=("--children",))
    assert profiled.out == bare.out
    assert json.loads(bare.out.splitlines()[0])
    assert len(lab.open().processes) == 5  # -I does not look at the environment


def test_the_real_sitecustomize_still_runs(lab):
    lab.environment["PYTHONPATH"] += os.pathsep + str(lab.folder / "site")
    lab.write("site/sitecustomize.py", "print('real', __name__, __file__)")
    start = "subprocess.run([sys.executable, '-c', 'import sitecustomize'])"
    lab.write("x.py", f"import subprocess, sys\nsys.stdout.flush()\n{start}")
    assert lab.same("x.py", take=("--children",)).out.count("real ") == 2
    lab.write("site/sitecustomize.py", "1/0")
    assert lab.same("x.py", take=("--children",)).err.count("Error in sitecustomize") == 2


def test_the_parent_is_killed(family):
    start = "import os, subprocess, sys\nsubprocess.run([sys.executable, 'leaf.py'])\n"
    family.write("x.py", f"{start}os.kill(os.getpid(), 9)\n")
    assert family.profiled("x.py", take=("--children",)).status == -signal.SIGKILL
    parts = family.folder / "r.seismo.parts"
    (part,) = parts.glob("*.seismo")
    assert family.calls(part)["leaf"] == 5
    merged = seismo.merge([seismo.open(part), family.open()])
    assert len(merged.processes) == 2
    assert family.profiled("-c", "pass", take=("--children",)).status == 0  # the next run tidies up
    assert not parts.exists()


def test_a_profiled_child(lab):
    """A program that runs `seismo profile` itself: that child is its own recording."""
    lab.write("y.py", "def f(): pass\nf()\n")
    lab.write(
        "x.py",
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'seismo', 'profile', '-q', '-o', 'y.seismo', 'y.py'], check=True)\n",
    )
    assert lab.profiled("x.py", take=("--children",)).status == 0
    assert lab.calls(lab.folder / "y.seismo")["f"] == 1
    assert len(lab.open().processes) == 1


def test_children_needs_a_plain_file(lab):
    ended = lab.run(["-m", "seismo", "profile", "--children", "-o", "/dev/null", "-c", "print(1)"])
    assert (ended.status, ended.out) == (2, "")
    assert "regular file" in ended.err
