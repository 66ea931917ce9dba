"""The sums on Spark: a groupBy of a DataFrame, in the active session or one that its settings start."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from seismo.dataset.engines import LOW_BITS, ROWS, halves, module, place
from seismo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.dataset.engines import Reduction, Summed


@contextlib.contextmanager
def started() -> Iterator[Summed]:
    """Use the active session, or start one, which ends with the context."""
    sql = module("spark", "pyspark.sql")
    spark = sql.SparkSession.getActiveSession()
    ours = spark is None
    if ours:
        try:
            spark = sql.SparkSession.builder.appName("seismo merge").getOrCreate()
        except Exception as error:  # noqa: BLE001 - a JVM that does not start has no class of its own
            hint = "PySpark needs Java 17 or later: set JAVA_HOME"
            raise UsageError(f"Spark does not start: {str(error).splitlines()[0]}", hint=hint) from None
    try:
        yield lambda reduction: _summed(spark, reduction)
    finally:
        if ours:
            spark.stop()


def _file(path: str) -> str:
    """Return a file as Spark names it: without patterns, and with Hadoop's name of S3."""
    url = place(path, "file://")
    url = f"s3a{url[2:]}" if url.startswith("s3://") else url
    return "".join(f"\\{sign}" if sign in "*?[]{}\\" else sign for sign in url)


def _summed(spark: Any, reduction: Reduction) -> Iterator[Any]:
    functions = module("spark", "pyspark.sql.functions")
    frame = spark.read.parquet(*map(_file, reduction.files)).select(*reduction.columns)
    sums = [functions.count(functions.lit(1)).alias(ROWS)]
    for column in reduction.integers:
        high, low = halves(column)
        sums.append(functions.sum(functions.shiftright(column, LOW_BITS)).alias(high))
        sums.append(functions.sum(functions.col(column).bitwiseAND((1 << LOW_BITS) - 1)).alias(low))
    sums += [functions.sum(functions.col(column).cast("double")).alias(column) for column in reduction.floats]
    yield frame.groupBy(*reduction.keys).agg(*sums).toArrow()
