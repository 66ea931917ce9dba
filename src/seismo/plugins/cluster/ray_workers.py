"""Recording of Ray's workers: `with seismo.ray("DIR") as recorded: ray.init(runtime_env=recorded.runtime_env)`.

The setup hook of each worker wraps the functions that its function manager hands out, for tasks and for methods of
actors. Ray kills its workers, so a task's calls are in the file before its result leaves the worker.
"""

from __future__ import annotations

import os
from typing import Any, Self

from seismo.errors import UsageError
from seismo.plugins.cluster.task_recording import TaskRecording
from seismo.process import engine

HOOK, VARIABLE = "worker_process_setup_hook", "SEISMO_RAY"


def setup() -> None:
    """Begin the recording of this worker. Ray calls it in each."""
    from ray._private.worker import global_worker

    settings: Any = engine.from_json(os.environ[VARIABLE])
    recording = TaskRecording(settings["folder"], settings["options"])
    recording.start()
    manager = global_worker.function_actor_manager
    find = manager.get_execution_info

    def get_execution_info(*arguments: Any) -> Any:
        info = find(*arguments)
        if not hasattr(info.function, "seismo"):
            method = getattr(info.function, "method", info.function)  # of an actor
            wrapper: Any = recording.wrapped(info.function, _labels, getattr(method, "__code__", None))
            wrapper.seismo = True
            info = info._replace(function=wrapper)
            manager._function_execution_info[arguments[1].function_id] = info
        return info

    manager.get_execution_info = get_execution_info


def _labels() -> dict[str, str]:
    import ray
    from ray._private.worker import global_worker

    context, core = ray.get_runtime_context(), global_worker.core_worker
    name, number = context.get_task_name() or "", context.get_task_id() or ""
    labels = {"task": f"{name} {number}".strip(), "name": name, "attempt": str(core.get_current_task_attempt_number())}
    actor = context.get_actor_id()
    if actor:
        labels |= {"actor": actor, "actor_name": context.get_actor_name() or ""}
    return labels


class ray:  # noqa: N801  used like a function, as seismo.span is
    """Record the tasks and actors of Ray's workers in a `with` block, and append them to a dataset at its end.

        with seismo.ray("DIR") as recorded:
            ray.init(runtime_env=recorded.runtime_env)
            ...

    The attribute `runtime_env` is for ray.init, whose workers record until they end; pass your own as `runtime_env`.
    The other `options` are those of `seismo.profile`. The attribute `run` has what was appended. All hosts must share
    the folder DIR.parts. Raise UsageError if the environment has a setup hook already.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, runtime_env: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self._folder, self._options = folder, options
        self.runtime_env = dict(runtime_env or {})
        if HOOK in self.runtime_env:
            raise UsageError(f"the environment has a {HOOK}", hint=f"call {__name__}.setup() in it, and leave it out")

    def __enter__(self) -> Self:
        from seismo.plugins.cluster.run import Run

        self.run = Run(self._folder, "ray")
        settings = engine.json_text({"folder": self.run.parts, "options": self._options})
        self.runtime_env |= {
            HOOK: f"{__name__}.setup",
            "env_vars": {**self.runtime_env.get("env_vars", {}), VARIABLE: settings},
        }
        return self

    def __exit__(self, *_: object) -> None:
        self.run.collect()
