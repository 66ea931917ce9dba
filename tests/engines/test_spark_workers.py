"""seismo.spark in local mode: UDFs of all kinds, reused workers, one that is killed, and a task that is retried."""

import os
import shutil
import sys

import pytest

pyspark = pytest.importorskip("pyspark")
pandas = pytest.importorskip("pandas")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

import seismo  # noqa: E402  after the skips
from seismo.dataset import Dataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")


def functions(folder):
    """Return functions that cloudpickle sends by value."""

    def leaf(number):
        return number * 2

    def work(count):
        return sum([leaf(number) for number in range(int(count))])

    def each(frames):
        for frame in frames:
            frame["id"] = [work(number) for number in frame["id"]]
            yield frame

    def die_once(frames):
        import os
        import signal
        import time

        work(60)
        if not os.path.exists(f"{folder}/died"):
            open(f"{folder}/died", "w").close()
            time.sleep(1.5)  # what is not finished is there up to the flush interval
            os.kill(os.getpid(), signal.SIGKILL)
        yield from frames

    def fail_once(frames):
        import os
        import signal

        from pyspark import worker

        work(50)
        if not os.path.exists(f"{folder}/failed"):
            open(f"{folder}/failed", "w").close()
            handle = worker.handle_worker_exception  # Spark may kill a worker that has told it of a failure
            worker.handle_worker_exception = lambda *given: (handle(*given), os.kill(os.getpid(), signal.SIGKILL))
            raise ValueError("the first attempt fails")
        yield from frames

    return work, each, die_once, fail_once


@pytest.fixture(scope="module")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def leaves(folder, attempts="last"):
    with Dataset(folder, attempts=attempts) as dataset:
        return dict(
            dataset.rows(
                "select task, sum(calls) from calls_by_function join functions using (function) "
                "where qualname like '%leaf' group by task order by task"
            )
        )


def test_udfs_of_all_kinds_are_recorded_by_stage_partition_and_attempt(session, tmp_path):
    from pyspark.sql.functions import pandas_udf, udf

    work, each, _, _ = functions(tmp_path)
    plain = udf(work, "long")
    before = session.range(0, 20, 1, 2).select(plain("id"))
    before.count()
    vector = pandas_udf(lambda column: column.map(work), "long")
    with seismo.spark(session, tmp_path / "runs") as recorded:
        frames = [
            before,
            session.range(0, 20, 1, 2).select(vector("id")),
            session.range(0, 20, 1, 2).mapInPandas(each, "id long"),
        ]
        assert [sum(row[0] for row in frame.collect()) for frame in frames] == [2280] * 3
        assert session.sparkContext.parallelize(range(20), 2).map(work).sum() == 2280
    before.collect()  # is not recorded
    assert all(one.added for one in recorded.run.appended)
    with Dataset(tmp_path / "runs") as dataset:
        rows = dataset.rows("select task, labels, pid from processes where labels['state'] is not null")
    assert all(dict(labels)["state"] == "finished" for _, labels, _ in rows)
    assert {(dict(labels)["partition"], dict(labels)["retry"]) for _, labels, _ in rows} == {("0", "0"), ("1", "0")}
    assert len({task for task, _, _ in rows}) == len(rows) == 8
    assert len({pid for _, _, pid in rows}) < 8  # workers are reused
    found = leaves(tmp_path / "runs")
    assert sum(found.values()) == 4 * 190
    assert sorted(found.values()) == [45] * 4 + [145] * 4


def test_a_killed_worker_and_a_failed_task_count_once_and_two_blocks_are_apart(session, tmp_path):
    _, each, die_once, fail_once = functions(tmp_path)
    for number in (1, 2):
        folder = tmp_path / f"runs-{number}"
        with seismo.spark(session, folder):
            session.range(0, 20, 1, 2).mapInPandas(each, "id long").count()
            for function in (die_once, fail_once):
                assert session.range(0, 4, 1, 1).mapInPandas(function, "id long").count() == 4
        assert sorted(leaves(folder).values()) == [45, 50, 60, 145]
        with Dataset(folder, attempts="all") as dataset:
            rows = dataset.rows(
                "select labels['retry'], labels['state'] from processes where labels['partition'] = '0' "
                "and task in (select task from processes group by task having count(*) > 1 and task <> '') order by "
                "labels['attempt']::bigint"
            )
            left_out = [row.count for row in dataset.read().losses if "attempts at tasks" in row.detail]
        retried = [("0", "unfinished"), ("1", "finished"), ("0", "failed"), ("1", "finished")]
        assert (rows, left_out) == (retried if number == 1 else [], [])


def test_the_profiler_of_spark_may_be_on(session, tmp_path):
    from pyspark.sql.functions import udf

    work, *_ = functions(tmp_path)
    session.conf.set("spark.sql.pyspark.udf.profiler", "perf")
    try:
        with seismo.spark(session, tmp_path / "runs"):
            session.range(0, 20, 1, 2).select(udf(work, "long")("id")).collect()
        assert session._profiler_collector._perf_profile_results
    finally:
        session.conf.unset("spark.sql.pyspark.udf.profiler")
    assert sum(leaves(tmp_path / "runs").values()) == 190
