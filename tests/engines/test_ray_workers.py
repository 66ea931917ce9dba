"""seismo.ray on a local Ray: tasks and actors, workers that are killed, a task that is retried."""

import os
import signal
import time

import pytest

ray = pytest.importorskip("ray")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

import seismo  # noqa: E402  after the skips
from seismo.dataset import Dataset  # noqa: E402
from seismo.errors import UsageError  # noqa: E402


def run(folder):
    """Run all kinds of tasks and actors. Ray kills the workers at the end."""

    def leaf(number):
        return number * 2

    def work(count):
        return sum([leaf(number) for number in range(count)])

    @ray.remote
    def task(count):
        return work(count)

    @ray.remote
    def numbers(count):
        for number in range(count):
            yield work(number)

    @ray.remote(max_retries=3, retry_exceptions=True)
    def fail_once(path):
        work(50)
        if not os.path.exists(path):
            open(path, "w").close()
            raise ValueError("the first attempt fails")
        return "again"

    @ray.remote(max_retries=3)
    def die_once(path):
        work(60)
        if not os.path.exists(path):
            open(path, "w").close()
            time.sleep(1.5)  # an attempt that is not finished is there up to the flush interval
            os.kill(os.getpid(), signal.SIGKILL)
        return "again"

    @ray.remote
    class Actor:
        def method(self, count):
            return work(count)

    @ray.remote
    class AsyncActor:
        async def method(self, count):
            return work(count)

        async def numbers(self, count):
            for number in range(count):
                yield work(number)

    with seismo.ray(folder / "runs") as recorded:
        ray.init(num_cpus=2, runtime_env=recorded.runtime_env, include_dashboard=False)
        try:
            ray.get([task.remote(count) for count in range(20)])
            assert [ray.get(one) for one in numbers.options(num_returns="streaming").remote(4)] == [0, 0, 2, 6]
            assert ray.get(fail_once.remote(str(folder / "failed"))) == "again"
            assert ray.get(die_once.remote(str(folder / "died"))) == "again"
            actor, other = Actor.remote(), AsyncActor.remote()
            ray.get([actor.method.remote(30), *(other.method.remote(7) for _ in range(3))])
            for one in other.numbers.options(num_returns="streaming").remote(5):
                ray.get(one)
        finally:
            ray.shutdown()
    return recorded


LEAVES = {"task": sum(range(20)), "fail_once": 50, "die_once": 60}
LEAVES |= {"numbers": 6, "Actor.method": 30, "AsyncActor.method": 21, "AsyncActor.numbers": 10}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run(tmp_path_factory.mktemp("ray"))


def leaves(dataset):
    rows = dataset.rows(
        "select labels['name'], sum(calls) from calls_by_function join functions using (function) "
        "join processes using (process) where qualname like '%leaf' group by all"
    )
    return {name.rpartition(">.")[2]: calls for name, calls in rows}


def attempts(dataset, name):
    rows = dataset.rows(
        "select labels['attempt'], labels['state'] from processes where labels['name'] like ? order by all",
        [f"%{name}"],
    )
    return [tuple(row) for row in rows]


def test_all_calls_of_killed_workers_are_in_the_dataset_by_task_and_actor(recorded):
    assert all(one.added for one in recorded.run.appended)
    assert not os.path.exists(recorded.run.parts)
    with Dataset(recorded.run.folder) as dataset:
        assert leaves(dataset) == LEAVES
        assert attempts(dataset, "task") == [("0", "finished")] * 20
        actors = dataset.rows("select count(distinct labels['actor']) from processes")
    assert actors == [(2,)]


def test_a_retried_task_counts_once_unless_all_attempts_are_wanted(recorded):
    with Dataset(recorded.run.folder) as dataset:
        assert attempts(dataset, "fail_once") == attempts(dataset, "die_once") == [("1", "finished")]
    with Dataset(recorded.run.folder, attempts="all") as dataset:
        assert attempts(dataset, "fail_once") == [("0", "failed"), ("1", "finished")]
        assert attempts(dataset, "die_once") == [("0", "unfinished"), ("1", "finished")]
        assert leaves(dataset) == {**LEAVES, "fail_once": 100, "die_once": 120}


def test_an_environment_with_a_setup_hook_is_refused(tmp_path):
    with pytest.raises(UsageError, match="worker_process_setup_hook"):
        seismo.ray(tmp_path / "runs", runtime_env={"worker_process_setup_hook": "a.b"})
