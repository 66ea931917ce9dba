"""Workers of joblib and Celery under `seismo profile --children`: exact counts, and a dataset of their processes."""

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
PROFILE = ["profile", "--children", "-q", "-o", "run.seismo"]


def check(folder):
    """20 tasks, each with ten calls of leaf, in at least two processes, in a dataset with its label."""
    assert [one.added for one in append(folder / "runs", [folder / "run.seismo"], {"version": "1.2"})] == [True]
    with Dataset(folder / "runs") as dataset:
        rows = dataset.rows(
            "select qualname, sum(calls) from calls_by_function join functions using (function) "
            "where qualname in ('work', 'leaf') group by qualname"
        )
        assert dict(rows) == {"work": 20, "leaf": 200}
        assert len(dataset.read().processes) >= 2
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
