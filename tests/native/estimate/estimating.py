"""Recordings for the tests of the estimates: raw numbers of nodes, as the recorder keeps them."""

import array
import itertools

from seismo import _core
from seismo.model import Recording
from seismo.model.table import Strings


def recording(nodes, kinds, *, processes=1, thread_process=(0,), costs=None, rest_ns=()):
    """A recording of nodes given as dicts of columns; those not given are 0 (parent: -1).

    costs: of each process, or a list with one dict a process. rest_ns: of each thread; what is left out is 0.
    """
    of_process = costs if isinstance(costs, list) else [costs or {}] * processes
    rows = {
        "processes": [{"id": i, **of} for i, of in enumerate(of_process)],
        "threads": [
            {"id": i, "process": process, "rest_ns": rest}
            for i, (process, rest) in enumerate(itertools.zip_longest(thread_process, rest_ns, fillvalue=0))
        ],
        "functions": [{"id": i, "kind": kind} for i, kind in enumerate(kinds)],
        "nodes": [{"id": i, "parent": -1, **node} for i, node in enumerate(nodes)],
    }
    tables = {
        table: {
            name: memoryview(
                array.array("d" if code == "d" else "q", [row.get(name, 0) for row in rows.get(table, [])])
            )
            for name, code in columns
        }
        for table, columns in _core.schema().items()
    }
    return Recording(tables, Strings.of([""]), {})
