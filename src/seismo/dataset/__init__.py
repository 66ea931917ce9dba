"""Datasets: folders of Parquet files that hold many recordings, for DuckDB and every other engine.

    append("dataset", ["a.seismo", "b.seismo"], labels={"version": "1.2"})
    recording = Dataset("dataset").read()        the sum of all, as one recording
    compact(Dataset("dataset"), "sum", "dask")   the sum of all, as another dataset

docs/dataset.md describes the files. Datasets need DuckDB and PyArrow: pip install 'seismo[dataset]'.
"""

from seismo.dataset.compact import compact
from seismo.dataset.folder import Dataset, is_dataset
from seismo.dataset.groups import Spread, Why, explain, spread
from seismo.dataset.remote import is_url
from seismo.dataset.writer import Appended, append

__all__ = ["Appended", "Dataset", "Spread", "Why", "append", "compact", "explain", "is_dataset", "is_url", "spread"]
