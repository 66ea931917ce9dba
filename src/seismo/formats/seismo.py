"""seismo's own file format, as an entry of the registry."""

from __future__ import annotations

from seismo.formats.base import Format
from seismo.model import read

FORMAT = Format(
    name="seismo",
    description="seismo's own file",
    suffixes=(".seismo",),
    binary=True,
    writer=lambda recording, out: out.write(recording.to_bytes()),
    reader=read,
    lost="nothing",
    kept="everything",
    of=(),
    all_times=True,
    mark=b"\x8fseismo\n",
    lists_losses=True,
)
