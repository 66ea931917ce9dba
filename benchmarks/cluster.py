"""What recording adds to 1,000 tasks of Dask, Ray and Spark, against what it adds to the same functions in one process.

    python benchmarks/cluster.py [--only dask|ray|spark ...] [--rounds N]

A round runs the functions of all tasks one after the other in one process, and then the job on two workers, each of the
two bare and recorded. From the second round on, what recording adds in a round is recorded less bare. The ratio of a
round is what it adds to the job, over what it adds to the one process; the line has the median of the rounds, the least
and the most. Times are from the first task to the last result, without the start of the engine and without appending.
Two workers share the added wall time, so it is doubled. CPU time is that of all processes of the job, with the
driver's and the JVM's; on a machine that is busy otherwise, only it is comparable, and only over many rounds. An engine
takes less than three minutes with the usual number of rounds on a quiet machine with two processors.
"""

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time

import psutil

TASKS, CALLS, ENGINES = 1000, 40_000, ("dask", "ray", "spark")


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


def pairs_of(job, recorded):
    """Yield the times of the job for ever: bare, and recorded in the context that `recorded` makes."""
    while True:
        plain = timed(job)
        with recorded():
            measured = timed(job)
        yield plain, measured


def one_process(folder):
    import seismo

    def job():
        for number in range(TASKS):
            work(number)

    yield from pairs_of(job, lambda: seismo.profile(output=f"{folder}/one.seismo"))


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
            task = engine.remote(work)
            engine.get([task.remote(0) for _ in range(10)])  # the workers have started
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
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=ENGINES, default=ENGINES, help="these engines")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of an engine (7)")
    options = parser.parse_args()
    print(f"{TASKS:,} tasks of {CALLS:,} calls; added by recording: s on the engine; ÷ s in one process")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            with contextlib.closing(globals()[name](folder)) as job, contextlib.closing(one_process(folder)) as one:
                next(job), next(one)  # the first round starts workers and loads modules
                rounds = [(next(job), next(one)) for _ in range(options.rounds)]
            for place, (what, workers) in enumerate((("wall", 2), ("CPU", 1))):
                of_job, of_one = (
                    [recorded[place] - bare[place] for bare, recorded in side] for side in zip(*rounds, strict=True)
                )
                ratios = [workers * added / alone for added, alone in zip(of_job, of_one, strict=True)]
                print(f"{name}\t{what}\t{spread(of_job)} s\t÷ {spread(ratios)}", flush=True)


if __name__ == "__main__":
    main()
