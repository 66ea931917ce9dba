"""seismo's own file format, as an entry of the registry."""

from __future__ import annotations

from typing import BinaryIO

from seismo.formats.base import Format
from seismo.model import Recording, read


def _write(recording: Recording, out: BinaryIO) -> None:
    out.write(recording.to_bytes())


FORMAT = Format(
    name="seismo",
    description="seismo's own file",
    suffixes=(".seismo",),
    binary=True,
    writer=_write,
    reader=read,
    lost="nothing",
    kept="everything",
    of=(),
    all_times=True,
    mark=b"\x8fseismo\n",
    lists_losses=True,
)
