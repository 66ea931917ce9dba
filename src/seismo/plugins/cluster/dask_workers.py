"""Recording of Dask's workers: `with seismo.dask(client, "DIR"): ...`.

A worker plugin sees each task that is about to run (`transition`), and puts a callable before its `run_spec`. Nothing
of Dask is replaced. Dask numbers the runs of all tasks (`run_id`), which orders a task's attempts.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from seismo.errors import UsageError
from seismo.plugins.cluster.task_recording import TaskRecording

try:
    from dask.utils import key_split
    from distributed.diagnostics.plugin import WorkerPlugin
except ImportError:  # without Dask there is no client, either
    WorkerPlugin = object

if TYPE_CHECKING:
    import os

    from distributed import Client, Worker

_recordings: dict[str, tuple[TaskRecording, list[RecordTasks]]] = {}  # by folder; threads may be workers, too


class RecordedTask:
    """A task of Dask that is recorded when it is called."""

    __slots__ = ("_labels", "_recording", "_spec")

    def __init__(self, recording: TaskRecording, labels: dict[str, str], spec: Any) -> None:
        self._recording, self._labels, self._spec = recording, labels, spec

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the task."""
        run = self._recording.run_async if self._spec.is_coro else self._recording.run
        return run(self._labels, self._spec, *arguments, **keywords)

    def __repr__(self) -> str:
        return repr(self._spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spec, name)


class RecordTasks(WorkerPlugin):  # type: ignore[misc,unused-ignore]
    """Records the tasks of a worker into a folder of this host. options: as seismo.profile takes them."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.name = f"seismo-{folder}"
        self._folder, self._options = folder, options

    def setup(self, worker: Worker) -> None:
        """Begin the worker's recording."""
        self._worker = worker
        if self._folder not in _recordings:
            recording = TaskRecording(self._folder, self._options)
            recording.start()
            _recordings[self._folder] = recording, []
        self._recording, users = _recordings[self._folder]
        users.append(self)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002  Dask's signature
        """End the worker's recording."""
        _, users = _recordings.get(self._folder, (None, []))
        if self in users:
            users.remove(self)
        if not users:
            _stop(self._folder)

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:  # noqa: ARG002  Dask's signature
        """Record a task that is about to run."""
        task = self._worker.state.tasks.get(key) if finish == "executing" else None
        if task is None or task.run_spec is None or isinstance(task.run_spec, RecordedTask):
            return
        labels = {"task": str(key), "prefix": key_split(key), "attempt": str(task.run_id)}
        if isinstance(key, tuple):
            labels["layer"] = str(key[0])
        labels["worker"] = str(self._worker.name)
        task.run_spec = RecordedTask(self._recording, labels, task.run_spec)


class dask:  # noqa: N801  used like a function, as seismo.span is
    """Record the tasks that a client's workers run in a `with` block, and append them to a dataset at its end.

        with seismo.dask(client, "DIR"):
            dask.compute(...)

    `options` are those of `seismo.profile`. The attribute `run` has what was appended. Workers on other hosts send
    their files at the end, unless they share the folder DIR.parts; a worker that was killed must share it. Raise
    UsageError for an asynchronous client, or if no worker can record; warn of some that cannot.
    """

    def __init__(self, client: Client, folder: str | os.PathLike[str], **options: Any) -> None:
        if client.asynchronous:
            raise UsageError("seismo.dask needs a synchronous client", hint="Client(...) without asynchronous=True")
        self._client, self._folder, self._options = client, folder, options

    def __enter__(self) -> Self:
        from seismo.plugins.cluster.run import Run

        self.run = Run(self._folder, "dask")
        self._plugin = RecordTasks(self.run.parts, self._options)
        try:
            self._client.register_plugin(self._plugin)
        except Exception as error:
            found = self._client.run(_records, self.run.parts, on_error="return")
            failed = [worker for worker, records in found.items() if records is not True]
            if len(failed) == len(found):
                self.__exit__()
                what = f"no worker can record: {type(error).__name__}: {error}"
                raise UsageError(what, hint="seismo, of the same version, must be installed on all workers") from error
            which = f"{len(failed)} of {len(found)} workers cannot record ({', '.join(failed[:3])}): {error}"
            warnings.warn(f"seismo: {which}; their tasks will not be in the dataset", RuntimeWarning, stacklevel=2)
        return self

    def __exit__(self, *_: object) -> None:
        from seismo.plugins.cluster.run import files_of

        try:
            self._client.run(_stop, self.run.parts, on_error="ignore")
            with suppress(KeyError):  # a worker that cannot record does not have it
                self._client.unregister_worker_plugin(self._plugin.name)
            given = self._client.run(files_of, self.run.parts, self.run.files(), on_error="ignore")
            for files in given.values():
                self.run.add(files)
        finally:
            self.run.collect()


def _stop(folder: str) -> None:
    recording, _ = _recordings.pop(folder, (None, []))
    if recording is not None:
        recording.stop()


def _records(folder: str) -> bool:
    return folder in _recordings
