"""seismo.dask on a LocalCluster: labels, a worker that is killed, a task that is retried, threads as workers."""

import contextlib
import os
import signal
import sys

import pytest

distributed = pytest.importorskip("distributed")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

import seismo  # noqa: E402  after the skips
from seismo.dataset import Dataset  # noqa: E402
from seismo.errors import UsageError  # noqa: E402


def leaf(number):
    return number * 2


def work(count):
    return sum([leaf(number) for number in range(count)])


async def work_async(count):
    return work(count)


def fail_once(path):
    work(50)
    if not os.path.exists(path):
        open(path, "w").close()
        raise ValueError("the first attempt fails")
    return "again"


def die_once(path):
    work(60)
    if not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "again"


@contextlib.contextmanager
def started(**more):
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0", **more}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def shared_client():
    with started() as client:
        yield client


@pytest.fixture
def client(shared_client):
    shared_client.wait_for_workers(2)  # one that a test has killed starts again
    return shared_client


@pytest.fixture
def spoilt():
    """A client whose workers no other test can use."""
    with started() as client:
        yield client


def calls(dataset):
    rows = dataset.rows(
        "select qualname, sum(calls) from calls_by_function join functions using (function) "
        "where task <> '' group by qualname"
    )
    return dict(rows)


def states(dataset, prefix):
    rows = dataset.rows(
        "select labels['state'] from processes where labels['prefix'] = ? order by labels['attempt']::bigint", [prefix]
    )
    return [row[0] for row in rows]


def test_every_task_is_in_the_dataset_with_its_labels_and_exact_calls(client, tmp_path):
    with seismo.dask(client, tmp_path / "runs") as recorded:
        tasks = [*client.map(work, range(20)), client.submit(work_async, 100), client.submit(leaf, 1, key=("part", 7))]
        client.gather(tasks)
        keys = {str(task.key) for task in tasks}
    assert all(one.added for one in recorded.run.appended)
    assert not os.path.exists(recorded.run.parts)
    with Dataset(tmp_path / "runs") as dataset:
        labels = {row[0]: dict(row[1]) for row in dataset.rows("select task, labels from processes where task <> ''")}
        found = calls(dataset)
        recording = dataset.read()
    assert labels.keys() == keys
    assert {one["engine"] for one in labels.values()} == {"dask"}
    assert [one["prefix"] for one in labels.values()].count("work") == 20
    assert labels["('part', 7)"]["layer"] == "part"
    assert (found["task"], found["work"], found["leaf"]) == (22, 21, sum(range(20)) + 100 + 1)
    assert len(recording.processes) == 2
    assert sum(row.calls for row in recording.functions if row.qualname == "leaf") == sum(range(20)) + 101


def test_a_retried_task_counts_once_unless_all_attempts_are_wanted(client, tmp_path):
    with seismo.dask(client, tmp_path / "runs"):
        assert client.submit(fail_once, str(tmp_path / "failed"), retries=2).result() == "again"
    with Dataset(tmp_path / "runs") as dataset:
        assert states(dataset, "fail_once") == ["finished"]
        assert calls(dataset)["leaf"] == 50
        assert any("attempts at tasks" in row.detail for row in dataset.read().losses)
    with Dataset(tmp_path / "runs", attempts="all") as dataset:
        assert states(dataset, "fail_once") == ["failed", "finished"]
        assert calls(dataset)["leaf"] == 100


def test_what_a_killed_worker_has_ended_is_in_the_dataset(client, tmp_path):
    with seismo.dask(client, tmp_path / "runs"):
        client.gather(client.map(work, range(100, 120)))
        assert client.submit(die_once, str(tmp_path / "died")).result() == "again"
    with Dataset(tmp_path / "runs") as dataset:
        found = calls(dataset)
        assert states(dataset, "work") == ["finished"] * 20
        assert states(dataset, "die_once") == ["finished"]
    assert (found["work"], found["leaf"]) == (21, sum(range(100, 120)) + 60)


def test_workers_that_are_threads_of_one_process_count_once(tmp_path):
    with started(threads_per_worker=1, processes=False) as client, seismo.dask(client, tmp_path / "runs"):
        client.gather(client.map(work, range(20)))
    with Dataset(tmp_path / "runs") as dataset:
        assert calls(dataset)["leaf"] == sum(range(20))


def test_workers_that_do_not_share_the_folder_send_their_files(client, tmp_path, monkeypatch):
    from seismo.plugins.cluster.run import Run

    files, add, sent = Run.files, Run.add, []

    def absent_at_first(self):
        return files(self) if sent else []

    def add_to_empty(self, found):
        sent.extend(found)
        for name in found:
            os.unlink(os.path.join(self.parts, name))
        add(self, found)

    monkeypatch.setattr(Run, "files", absent_at_first)
    monkeypatch.setattr(Run, "add", add_to_empty)
    with seismo.dask(client, tmp_path / "runs"):
        client.gather(client.map(work, range(20)))
    with Dataset(tmp_path / "runs") as dataset:
        assert calls(dataset)["leaf"] == sum(range(20))
    assert len(set(sent)) == 2


def without_seismo():
    for name in [name for name in sys.modules if name.partition(".")[0] == "seismo"]:
        del sys.modules[name]
    sys.modules["seismo"] = None  # importing it fails


def plugins(dask_worker):
    return list(dask_worker.plugins)


def test_a_worker_without_seismo_is_named_and_the_others_are_recorded(spoilt, tmp_path):
    first, second = spoilt.scheduler_info()["workers"]
    before = spoilt.run(plugins)
    spoilt.run(without_seismo, workers=[first])
    recorded = seismo.dask(spoilt, tmp_path / "runs")
    with pytest.warns(RuntimeWarning, match=rf"1 of 2 workers cannot record \({first}\).*will not be in the dataset"):
        recorded.__enter__()
    spoilt.gather(spoilt.map(len, ["a"] * 5, workers=[first], pure=False))
    spoilt.gather(spoilt.map(work, range(20), workers=[second]))
    recorded.__exit__(None, None, None)
    assert spoilt.run(plugins) == before
    with Dataset(tmp_path / "runs") as dataset:
        assert calls(dataset)["leaf"] == sum(range(20))
        assert len(dataset.rows("select * from processes where task <> ''")) == 20
    spoilt.run(without_seismo, workers=[second])
    with pytest.warns(RuntimeWarning, match="no worker has written"), pytest.raises(UsageError, match="no worker can"):
        seismo.dask(spoilt, tmp_path / "none").__enter__()
    assert spoilt.run(plugins) == before
    assert spoilt.submit(len, "ab").result() == 2


def test_an_asynchronous_client_is_refused(tmp_path):
    class Client:
        asynchronous = True

    with pytest.raises(UsageError, match="synchronous client"):
        seismo.dask(Client(), tmp_path / "runs")
