"""The sums on Dask: a groupby of dask.dataframe, on the current client or a local cluster."""

from __future__ import annotations

import contextlib
import glob
from typing import TYPE_CHECKING, Any

from seismo.dataset.engines import LOW_BITS, ROWS, halves, module, place
from seismo.dataset.schema import library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.dataset.engines import Reduction, Summed


@contextlib.contextmanager
def started() -> Iterator[Summed]:
    """Use the current client, that of the setting `scheduler-address`, or a cluster of local processes."""
    module("dask", "dask.dataframe")
    distributed = module("dask", "distributed")
    try:
        client, ours = distributed.get_client(), False
    except ValueError:  # there is none
        client, ours = distributed.Client(dashboard_address=None), True
    try:
        yield lambda reduction: _summed(client, reduction)
    finally:
        if ours:
            client.close()
            if client.cluster is not None:
                client.cluster.close()


def _summed(client: Any, reduction: Reduction) -> Iterator[Any]:
    dask = module("dask", "dask.dataframe")
    frame = dask.read_parquet([glob.escape(place(file)) for file in reduction.files], columns=reduction.columns)
    made = {ROWS: 1}
    for column in reduction.integers:
        high, low = halves(column)
        made |= {high: frame[column] // (1 << LOW_BITS), low: frame[column] % (1 << LOW_BITS)}
    for column in reduction.floats:
        made[column] = frame[column].astype("float64")
    rows = frame.assign(**made)[[*reduction.keys, *made]]
    sums = rows.groupby(reduction.keys, sort=False, dropna=False).sum(split_out=reduction.parts).reset_index()
    pa = library("pyarrow")
    for part in client.compute(sums.to_delayed()):  # the results stay on the workers until each is fetched
        yield pa.Table.from_pandas(part.result(), preserve_index=False)
        part.release()
