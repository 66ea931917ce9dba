"""Recording of Spark's Python workers: `with seismo.spark(session, "DIR"): ...`.

The workers run spark_worker, which records the tasks of jobs whose thread has the local property. `spark.profile`
(spark.sql.pyspark.udf.profiler) may be on at the same time: it has totals of each UDF by its number, from cProfile or a
memory profiler, added up over all tasks. A dataset has the calls of each task with its stage, partition and attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seismo.errors import UsageError
from seismo.plugins.cluster.spark_worker import PROPERTY
from seismo.process import engine

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from pyspark.sql import SparkSession

MODULE = "seismo.plugins.cluster.spark_worker"
DAEMON, WORKER = "spark.python.daemon.module", "spark.python.worker.module"
USE_DAEMON = "spark.python.use.daemon"


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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            self._context.setLocalProperty(PROPERTY, None)
            if self._local and self._before is None:
                self._context._jsc.sc().conf().remove(self._setting)
            elif self._local:
                self._context._jsc.sc().conf().set(self._setting, self._before)
        finally:
            self.run.collect()
