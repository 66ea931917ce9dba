"""What recording adds to 1,000 tasks of Dask, Ray and Spark, against what it adds to the same functions in one process.

    python benchmarks/cluster.py [dask|ray|spark ...]

Each engine runs the job with two workers, in turns recorded and not. The least of each counts, from the first task to
the last result, without the start of the engine and without appending. In one process, the functions of all tasks run
one after the other. Two workers share the added wall time, so it is doubled. CPU time is that of all processes of the
job, with the driver's and the JVM's; on a machine that is busy otherwise, only it is comparable.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time

import psutil

TASKS, ROUNDS, CALLS = 1000, 3, 40_000


def work(number):
    """Call small functions for some milliseconds."""

    def leaf(value):
        return value * 3 % 7

    return sum([leaf(value) for value in range(CALLS + number % 10)])


def cpu():
    """Return the CPU time of this process and of all below it."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:2])
    return total


def timed(job):
    """Return the wall and the CPU time of a job whose processes run before and after it."""
    before, start = cpu(), time.perf_counter()
    job()
    wall = time.perf_counter() - start
    return wall, cpu() - before


def smallest(times):
    return [min(column) for column in zip(*times, strict=True)]


def least(job, recorded):
    """Return the least times of the job: plain, and recorded in the context that `recorded` makes."""
    plain, measured = [], []
    job()
    for _ in range(ROUNDS):
        plain.append(timed(job))
        with recorded():
            measured.append(timed(job))
    return smallest(plain), smallest(measured)


def one_process(folder):
    import seismo

    def job():
        for number in range(TASKS):
            work(number)

    return least(job, lambda: seismo.profile(output=f"{folder}/one.seismo"))


def dask(folder):
    import distributed

    import seismo

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def job():
            client.gather(client.map(work, range(TASKS), pure=False))

        return least(job, lambda: seismo.dask(client, f"{folder}/dask"))


def ray(folder):
    import ray as engine

    import seismo

    def job():
        engine.get([task.remote(number) for number in range(TASKS)])

    times = {False: [], True: []}
    for _ in range(ROUNDS):
        for recorded in (False, True):
            with seismo.ray(f"{folder}/ray") if recorded else contextlib.nullcontext() as block:
                environment = block.runtime_env if recorded else {}
                engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
                task = engine.remote(work)
                engine.get([task.remote(0) for _ in range(10)])  # the workers have started
                times[recorded].append(timed(job))
                engine.shutdown()
    return smallest(times[False]), smallest(times[True])


def spark(folder):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import seismo

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def job():
        session.sparkContext.parallelize(range(TASKS), TASKS).map(work).sum()

    try:
        return least(job, lambda: seismo.spark(session, f"{folder}/spark"))
    finally:
        session.stop()


def main():
    engines = sys.argv[1:] or ["dask", "ray", "spark"]
    folder = tempfile.mkdtemp()
    try:
        print(f"{TASKS:,} tasks of {CALLS:,} calls", "wall s", "added", "÷ one", "CPU s", "added", "÷ one", sep="\t")
        alone = None
        for name in ["one_process", *engines]:
            plain, recorded = globals()[name](folder)
            added = [one - other for one, other in zip(recorded, plain, strict=True)]
            added[0] *= 1 if alone is None else 2
            alone = alone or added
            columns = (
                (f"{before:.2f}", f"{more:.2f}", f"{more / of:.2f}")
                for before, more, of in zip(plain, added, alone, strict=True)
            )
            print(name, *(text for column in columns for text in column), sep="\t", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
