"""OpenTelemetry profiles: a message ProfilesData, as collectors and backends store and exchange them.

The signal is in alpha, and its messages change without notice. This writes those of one release of the protocol
(RELEASE), with the classes that OpenTelemetry generates from it. Nothing is sent.

A resource is a process: its host, pid and command line. Of a dataset, it is a host. It has a profile of each type of
value: a sample has one value, that of a path. Attributes of samples name the thread and the task. Paths are those of
pprof.py, with the same limit of levels.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

from seismo.errors import FormatError, install_command
from seismo.formats.base import MAX_DEPTH, Format
from seismo.formats.call_trees import DEEPER, CallTrees, frames, program
from seismo.formats.function_names import escape, name
from seismo.formats.pprof import TYPES, samples, span
from seismo.formats.protobuf import numbers
from seismo.model.columns import Texts

if TYPE_CHECKING:
    from seismo.model import Recording

RELEASE = "v1.10.0"
_PACKAGE, _VERSIONS = "opentelemetry-proto", "1.45."  # generated from RELEASE
_TIME = ("time", "nanoseconds")


def _messages() -> Any:
    """Return the module of the messages. Raise FormatError unless it is of RELEASE."""
    try:
        found = metadata.version(_PACKAGE)
        from opentelemetry.proto.profiles.v1development import profiles_pb2
    except ImportError:
        found = "no version"
    if not found.startswith(_VERSIONS):
        what = f"OpenTelemetry profiles of {RELEASE} are written by {_PACKAGE} {_VERSIONS}*, and {found} is installed"
        raise FormatError(what, hint=install_command("otlp"))
    return profiles_pb2


class _Writer:
    """A message under construction. Entry 0 of each table is that of a missing one."""

    def __init__(self, recording: Recording) -> None:
        data = _messages().ProfilesData()
        self._recording, self._data, self._tables = recording, data, data.dictionary
        self._strings, self._labels = Texts(), recording.thread_labels
        self._attributes: dict[tuple[str, Any], int] = {}
        self._stacks: dict[bytes, int] = {}
        self._profiles: dict[tuple[int, str], list[Any]] = {}  # of a process and host, by type
        columns = {type_: recording.tree[column] for type_, column in TYPES.items()}
        # Viewers show the first profile.
        self._types = sorted((type_ for type_ in TYPES if any(columns[type_])), key=lambda type_: type_ != _TIME)
        self._places = [list(TYPES).index(type_) for type_ in self._types]

    def written(self) -> bytes:
        """Fill the message, and return it encoded."""
        tables, strings = self._tables, self._strings
        for null in ("mapping", "location", "function", "link", "attribute", "stack"):
            getattr(tables, f"{null}_table").add()
        known = [*frames(self._recording), DEEPER]
        for id_, frame in enumerate(known, 1):
            tables.function_table.add(
                name_strindex=strings.add(escape(".".join(filter(None, (frame.module, frame.qualname))))),
                system_name_strindex=strings.add(name(frame.module, frame.qualname)),
                filename_strindex=strings.add(escape(frame.file)),
                start_line=max(frame.line, 0),
            )
            tables.location_table.add().lines.add(function_index=id_, line=max(frame.line, 0))
        forest = CallTrees(self._recording)
        for thread in forest.busy_threads():
            self._write_thread(forest, thread)
        tables.string_table.extend(strings.index)
        encoded: bytes = self._data.SerializeToString()
        return encoded

    def _write_thread(self, forest: CallTrees, thread: int) -> None:
        recording = self._recording
        labels = self._labels[thread]
        row = recording.threads[thread]
        texts = {"thread.name": row.name, "seismo.task": labels.get("task", "")}
        own = [self._attribute(key, "string_value", escape(text)) for key, text in texts.items() if text]
        if row.native_id and not recording.threads_are_summed:
            own.append(self._attribute("thread.id", "int_value", row.native_id))
        profiles = self._profiles_of(row.process, labels.get("host", ""))
        for path, values, is_lower_bound in samples(forest, thread):
            stack = self._stacks.get(path)
            if stack is None:
                stack = self._stacks[path] = len(self._tables.stack_table)
                self._tables.stack_table.add(location_indices=numbers(memoryview(path)))
            for type_, place, profile in zip(self._types, self._places, profiles, strict=True):
                if values[place]:
                    sample = profile.samples.add(stack_index=stack, attribute_indices=own, values=[values[place]])
                    if is_lower_bound and type_[0] == "calls":
                        sample.attribute_indices.append(self._attribute("seismo.lower_bound", "bool_value", True))

    def _attribute(self, key: str, field: str, value: Any) -> int:
        """Return the index of an attribute. field: that of its value, by its type."""
        found = self._attributes.get((key, value))
        if found is None:
            found = self._attributes[key, value] = len(self._tables.attribute_table)
            setattr(self._tables.attribute_table.add(key_strindex=self._strings.add(key)).value, field, value)
        return found

    def _profiles_of(self, process: int, host: str) -> list[Any]:
        """Return the profiles of a process, or of a host of a dataset, by type."""
        from seismo import __version__

        recording = self._recording
        key = (-1 if recording.threads_are_summed else process, host)
        if key in self._profiles:
            return self._profiles[key]
        row = recording.processes[process] if process < len(recording.processes) else None
        resource = self._data.resource_profiles.add()
        texts = {"service.name": row.words[0] if row and row.words else "unknown_service:python", "host.name": host}
        if row and not recording.threads_are_summed:
            texts["process.command_line"] = program(recording, process)
            resource.resource.attributes.add(key="process.pid").value.int_value = row.pid
        for attribute, text in texts.items():
            if text:
                resource.resource.attributes.add(key=attribute).value.string_value = escape(text)
        scope = resource.scope_profiles.add()
        scope.scope.name, scope.scope.version = "seismo", __version__
        begin, end = span(recording)
        self._profiles[key] = found = []
        for type_, unit in self._types:
            profile = scope.profiles.add(time_unix_nano=begin, duration_nano=end - begin)
            profile.sample_type.type_strindex = self._strings.add(type_)
            profile.sample_type.unit_strindex = self._strings.add(unit)
            found.append(profile)
        return found


FORMAT = Format(
    name="otlp",
    description=f"OpenTelemetry profiles (alpha, those of {RELEASE}); written where {_PACKAGE} is installed",
    suffixes=(".otlp",),
    binary=True,
    counts=True,
    labels=True,
    writer=lambda recording, out: out.write(_Writer(recording).written()),
    lost=f"errors, kinds of functions, losses, the order of frames beyond {MAX_DEPTH} levels",
)
