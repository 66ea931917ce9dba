"""Arrow streams over columns, made by pyarrow."""

from __future__ import annotations

import importlib
from typing import Any

from seismo.errors import UsageError, install_command


def arrow_stream(columns: list[Any]) -> object:
    """Return a stream of one batch over (name, format, values[, offsets]): 'l' int64, 'g' float64, 'u' text."""
    try:
        pa = importlib.import_module("pyarrow")
    except ImportError:
        what = "without seismo's native core, pyarrow is needed to pass tables to other libraries"
        raise UsageError(what, hint=f"to install it: {install_command('arrow')}") from None
    types = {"l": pa.int64(), "g": pa.float64(), "u": pa.large_string()}
    arrays, fields = [], []
    for name, code, values, *offsets in columns:
        length = len(offsets[0]) - 1 if offsets else len(values)
        buffers = [None, *(pa.py_buffer(buffer) for buffer in (*offsets, values))]
        arrays.append(pa.Array.from_buffers(types[code], length, buffers))
        fields.append(pa.field(name, types[code], False))
    stream: object = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)).__arrow_c_stream__()
    return stream
