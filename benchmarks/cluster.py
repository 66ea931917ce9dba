"""What recording adds to 1,000 tasks of Dask, Ray and Spark, against what it adds to the same functions without them.

    python benchmarks/cluster.py [--only dask|ray|spark ...] [--rounds N]

A round runs the functions of all tasks in two plain processes at once, and the job on two workers, each of the two bare
and recorded: two processors may be one core, which two processes share. From the second round on, what recording adds
in a round is recorded less bare. The ratio of a round is what it adds to the job, over what it adds to the plain
processes; the line has the median of the rounds and the quartiles. Times are from the first task to the last result,
without the start of the engine and without appending. CPU time is that of all processes, with the driver's and the
JVM's. A round takes 15 to 20 seconds, and a minute on Spark. The speed of a shared machine changes faster than that, so
only many rounds say something.
"""

import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import psutil

TASKS, CALLS, ENGINES = 1000, 40_000, ("dask", "ray", "spark")


def work(number):
    """Call small functions for some milliseconds."""

    def leaf(value):
        return value * 3 % 7

    return sum([leaf(value) for value in range(CALLS + number % 10)])


def worker():
    """Return the process that runs this, after a time in which no other task gets it."""
    time.sleep(0.05)
    return os.getpid()


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


def pairs_of(job, recorded):
    """Yield the times of the job for ever: bare, and recorded in the context that `recorded` makes."""
    while True:
        plain = timed(job)
        with recorded():
            measured = timed(job)
        yield plain, measured


def half(place, output=None):
    """Run every second function, recorded if there is a file for it."""
    import seismo

    with seismo.profile(output=output) if output else contextlib.nullcontext():
        for number in range(place, TASKS, 2):
            work(number)


def two_processes(folder):
    files = [f"{folder}/{place}.seismo" for place in range(2)]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        while True:
            yield tuple(
                timed(lambda files=these: list(pool.map(half, range(2), files))) for these in ((None, None), files)
            )


def dask(folder):
    import distributed

    import seismo

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def job():
            client.gather(client.map(work, range(TASKS), pure=False))

        yield from pairs_of(job, lambda: seismo.dask(client, f"{folder}/dask"))


def ray(folder):
    import ray as engine

    import seismo

    def run(block, environment):
        with block:
            engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment())
            task, where = engine.remote(work), engine.remote(worker)
            while len(set(engine.get([where.remote() for _ in range(4)]))) < 2:  # until both workers have started
                pass
            engine.get([task.remote(0) for _ in range(10)])
            times = timed(lambda: engine.get([task.remote(number) for number in range(TASKS)]))
            engine.shutdown()
        return times

    while True:
        plain = run(contextlib.nullcontext(), dict)
        recorded = seismo.ray(f"{folder}/ray")
        yield plain, run(recorded, lambda recorded=recorded: recorded.runtime_env)


def spark(folder):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import seismo

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def job():
        session.sparkContext.parallelize(range(TASKS), TASKS).map(work).sum()

    try:
        yield from pairs_of(job, lambda: seismo.spark(session, f"{folder}/spark"))
    finally:
        session.stop()


def spread(values):
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:.2f} ({lower:.2f} to {upper:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=ENGINES, default=ENGINES, help="these engines")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of an engine (15)")
    options = parser.parse_args()
    print(f"{TASKS:,} tasks of {CALLS:,} calls; added by recording: s on the engine; ÷ s in two processes")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            with contextlib.closing(globals()[name](folder)) as job, contextlib.closing(two_processes(folder)) as alone:
                next(job), next(alone)  # the first round starts workers and loads modules
                rounds = [(next(job), next(alone)) for _ in range(options.rounds)]
            for place, what in enumerate(("wall", "CPU")):
                of_job, of_plain = (
                    [recorded[place] - bare[place] for bare, recorded in side] for side in zip(*rounds, strict=True)
                )
                ratios = [added / without for added, without in zip(of_job, of_plain, strict=True)]
                totals = sum(of_job) / sum(of_plain)
                print(f"{name}\t{what}\t{spread(of_job)} s\t÷ {spread(ratios)}\tof the totals {totals:.2f}", flush=True)


if __name__ == "__main__":
    main()
