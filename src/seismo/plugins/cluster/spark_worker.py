"""Recording of Spark's Python workers: `with seismo.spark(session, "DIR"): ...`.

The workers run this module in place of pyspark.daemon or pyspark.worker.

    spark.python.daemon.module = seismo.plugins.cluster.spark_worker     (with fork, as by default)
    spark.python.worker.module = seismo.plugins.cluster.spark_worker     (spark.python.use.daemon = false)

Spark hands a worker its task only when it runs: the context is set in the middle of pyspark.worker.main. There the
local property names the folder, or nothing is recorded. A recording that begins there has the calls that the thread is
in, so the marker around `main` is part of it. The daemon is not recorded. A worker that is reused records task after
task.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

from seismo.errors import UsageError
from seismo.plugins.cluster.task_recording import TaskRecording, note
from seismo.process import engine

if TYPE_CHECKING:
    import os

    from pyspark.sql import SparkSession

MODULE = "seismo.plugins.cluster.spark_worker"
DAEMON, WORKER = "spark.python.daemon.module", "spark.python.worker.module"
USE_DAEMON = "spark.python.use.daemon"
PROPERTY = "seismo"  # of the driver's thread, which Spark sends with every task

_current: tuple[str, TaskRecording] | None = None  # the value of the property, and what it began
_since: Any = (None, 0)  # before the task's first call: TaskRecording.moment


def _adopt(context: Any) -> None:
    """Begin or end the recording as the task's context asks, and note the task's labels."""
    global _current
    text = (context._localProperties or {}).get(PROPERTY, "")
    if _current is not None and _current[0] != text:
        _current[1].stop()
        _current = None
    if text and _current is None:
        settings: Any = engine.from_json(text)
        recording = TaskRecording(settings["folder"], settings["options"])
        recording.start()
        _current = text, recording
    if text:
        stage, partition, attempt = context.stageId(), context.partitionId(), context.taskAttemptId()
        task = f"stage {stage} partition {partition}"
        note(
            {"task": task, "stage": stage, "partition": partition, "attempt": attempt, "retry": context.attemptNumber()}
        )


def _note_end(state: str) -> None:
    """Write how the task ends before Spark knows it, for Spark may kill the worker then."""
    if _current is not None:
        note({"state": state})
        _current[1].flush(_since)


def _watch_failures(worker: Any) -> None:
    handle = worker.handle_worker_exception

    def handle_worker_exception(*arguments: Any) -> None:
        _note_end("failed")
        handle(*arguments)

    worker.handle_worker_exception = handle_worker_exception


def _watch_contexts() -> None:
    from pyspark.taskcontext import TaskContext

    set_context = TaskContext._setTaskContext.__func__

    def set_task_context(cls: Any, context: Any) -> None:
        if context is not None:
            _adopt(context)
        elif cls is TaskContext:
            _note_end("finished")
        set_context(cls, context)

    TaskContext._setTaskContext = classmethod(set_task_context)


def record_main() -> Any:
    """Make pyspark.worker.main run each task below a marker, and return it."""
    import pyspark.worker

    main = pyspark.worker.main
    if not hasattr(main, "seismo"):
        tasks = TaskRecording("")  # makes markers, and has no file

        def recorded_main(infile: Any, outfile: Any) -> None:
            global _since
            _since = _current[1].moment() if _current is not None else (None, 0)
            try:
                tasks.run({}, main, infile, outfile)
            finally:
                if _current is not None:
                    _current[1].rotate()

        recorded_main.seismo = True  # type: ignore[attr-defined]
        pyspark.worker.main = recorded_main
        _watch_contexts()
        _watch_failures(pyspark.worker)
    return pyspark.worker.main


def fork_workers() -> None:
    """Run pyspark's daemon, whose forked workers are recorded."""
    from pyspark import daemon

    worker = daemon.worker

    def recorded_worker(*arguments: Any) -> Any:
        if sys.argv[1:2] in ([], ["pyspark.worker"]):
            record_main()
        return worker(*arguments)

    daemon.worker = recorded_worker
    daemon.manager()


def run_worker() -> None:
    """Run a worker that no daemon has forked."""
    main = record_main()
    from pyspark.worker import get_sock_file_to_executor

    with get_sock_file_to_executor() as file:
        main(file, file)


class spark:  # noqa: N801  used like a function, as seismo.span is
    """Record the Python workers of the jobs that this thread runs in a `with` block; append them to a dataset.

        with seismo.spark(session, "DIR"):
            frame.mapInPandas(...).count()

    In local mode nothing needs to be set. On a cluster, the session must be made with spark.python.daemon.module set to
    "seismo.plugins.cluster.spark_worker", and all hosts must share the folder DIR.parts. `options` are those of
    `seismo.profile`. The attribute `run` has what was appended. Raise UsageError for Spark Connect, which has no local
    context, and for a cluster whose workers are not set up.
    """

    def __init__(self, session: SparkSession, folder: str | os.PathLike[str], **options: Any) -> None:
        self._folder, self._options = folder, options
        try:
            self._context: Any = session.sparkContext
        except Exception as error:
            hint = "create the session with master(...), on the driver's host"
            raise UsageError("seismo.spark needs a session with a SparkContext", str(error)[:100], hint) from error
        self._forks = self._context.getConf().get(USE_DAEMON, "true") == "true"
        self._setting = DAEMON if self._forks else WORKER
        self._local = self._context.master.startswith("local")
        if not self._local and self._context.getConf().get(self._setting) != MODULE:
            hint = f'SparkSession.builder.config("{self._setting}", "{MODULE}")'
            raise UsageError("the workers of this cluster are not set up to record", hint=hint)

    def __enter__(self) -> Self:
        from seismo.plugins.cluster.run import Run

        self.run = Run(self._folder, "spark")
        if self._local:  # workers are of this host, and read the live configuration
            self._before = self._context.getConf().get(self._setting)
            self._context._jsc.sc().conf().set(self._setting, MODULE)
        settings = engine.json_text({"folder": self.run.parts, "options": self._options})
        self._context.setLocalProperty(PROPERTY, settings)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._context.setLocalProperty(PROPERTY, None)
            if self._local and self._before is None:
                self._context._jsc.sc().conf().remove(self._setting)
            elif self._local:
                self._context._jsc.sc().conf().set(self._setting, self._before)
        finally:
            self.run.collect()


if __name__ == "__main__":
    if len(sys.argv) > 1:  # Spark gives the daemon the name of the worker's module
        fork_workers()
    else:
        run_worker()
