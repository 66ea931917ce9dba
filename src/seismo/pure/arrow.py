"""Arrow streams over columns, made by pyarrow."""

from __future__ import annotations

from typing import Any

from seismo.errors import UsageError, install_command


def arrow_stream(columns: list[Any]) -> object:
    """Return a stream of one batch over (name, format, values[, offsets]): 'l' int64, 'g' float64, 'u' text."""
    try:
        import pyarrow
    except ImportError:
        what = "without seismo's native core, pyarrow is needed to pass tables to other libraries"
        raise UsageError(what, hint=f"to install it: {install_command('arrow')}") from None
    types = {"l": pyarrow.int64(), "g": pyarrow.float64(), "u": pyarrow.large_string()}
    arrays, fields = [], []
    for name, code, values, *offsets in columns:
        length = len(offsets[0]) - 1 if offsets else len(values)
        buffers = [None, *(pyarrow.py_buffer(buffer) for buffer in (*offsets, values))]
        arrays.append(pyarrow.Array.from_buffers(types[code], length, buffers))
        fields.append(pyarrow.field(name, types[code], False))
    stream: object = pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(fields)).__arrow_c_stream__()
    return stream
