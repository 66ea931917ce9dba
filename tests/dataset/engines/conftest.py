"""Each engine in its local mode, started once: the session or cluster that a user would have."""

import warnings

import pytest

ENGINES = ("duckdb", "dask", "spark", "ray")


def start_dask():
    distributed = pytest.importorskip("distributed", reason="make engines installs Dask")
    pytest.importorskip("dask.dataframe", reason="make engines installs Dask")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=None, host="127.0.0.1"
    )
    client = distributed.Client(cluster)
    return lambda: (client.close(), cluster.close())


def start_spark():
    sql = pytest.importorskip("pyspark.sql", reason="make engines installs Spark")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "600m").config("spark.sql.shuffle.partitions", "2")
    # To compile what runs once takes most of the time.
    builder = builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.adaptive.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    try:
        spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    except Exception as error:
        pytest.skip(f"Spark does not start here: {error}")
    spark.sparkContext.setLogLevel("ERROR")
    return spark.stop


def start_ray():
    ray = pytest.importorskip("ray", reason="make engines installs Ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    return ray.shutdown


@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    """The name of an engine, which has been started."""
    if request.param == "duckdb":
        yield request.param
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the engines' own
        stop = globals()[f"start_{request.param}"]()
        yield request.param
        stop()
