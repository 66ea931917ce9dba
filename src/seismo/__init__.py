"""seismo records what a running Python program does, from the interpreter's own hooks: every call, exactly counted.

    with seismo.profile() as p:
        work()
    for row in p.recording.functions: ...

    @seismo.profile
    def work(): ...
    work.profile.recording

    with seismo.trace(output="timeline.seismo"):
        with seismo.span("load"): work()

    with seismo.lines(only="app.core.*") as p:
        work()
    for row in p.recording.lines: ...

    with seismo.cover(source="app", branch=True) as c:
        work()
    c.report()

    with seismo.objects() as r:
        work()
    r.assert_objects(max_alive=0)

    seismo.open("app-12.seismo")

Submodules are imported on first use, so `import seismo` costs almost nothing in a program that never records.

PYTEST_DONT_REWRITE: this module has no assertions to rewrite. When pytest itself is recorded, this module is imported
before pytest, which would otherwise warn that it can no longer rewrite it.
"""

if not __doc__:  # python -OO
    __doc__ = "PYTEST_DONT_REWRITE"

__version__ = "0.1.0"

# Not listed, but available: RecordingError, as users are expected to catch SeismoError; dask, ray and spark, as
# `from seismo import *` must not replace the engines.
__all__ = [
    "Recording",
    "SeismoError",
    "__version__",
    "count",
    "cover",
    "get_include",
    "lines",
    "mark",
    "merge",
    "objects",
    "open",
    "profile",
    "span",
    "start",
    "stop",
    "trace",
    "watch",
]

TYPE_CHECKING = False  # avoids the import of typing
if TYPE_CHECKING:
    from seismo.errors import RecordingError as RecordingError
    from seismo.errors import SeismoError
    from seismo.model import Recording, merge
    from seismo.model import read as open  # noqa: A004  as in gzip.open
    from seismo.plugins.cluster.dask_workers import dask as dask
    from seismo.plugins.cluster.ray_workers import ray as ray
    from seismo.plugins.cluster.spark_worker import spark as spark
    from seismo.sessions.cover import cover
    from seismo.sessions.lines import lines
    from seismo.sessions.objects import objects
    from seismo.sessions.profile import profile, start, stop
    from seismo.sessions.trace import trace
    from seismo.sessions.trace_marks import count, mark, span
    from seismo.sessions.watch import watch

# Maps a public name to its module, where it has the same name, except for `open`, which is `read` there.
_HOMES = {
    **dict.fromkeys(("Recording", "merge", "open"), "seismo.model"),
    **dict.fromkeys(("RecordingError", "SeismoError"), "seismo.errors"),
    **dict.fromkeys(("count", "mark", "span"), "seismo.sessions.trace_marks"),
    **dict.fromkeys(("profile", "start", "stop"), "seismo.sessions.profile"),
    **{name: f"seismo.sessions.{name}" for name in ("cover", "lines", "objects", "trace", "watch")},
    **{name: f"seismo.plugins.cluster.{name}_workers" for name in ("dask", "ray")},
    "spark": "seismo.plugins.cluster.spark_worker",
}


def get_include() -> str:
    """Return the folder of seismo.h, for the compiler's -I option; docs/c-api.md describes the C API."""
    return f"{__path__[0]}/include"


def load_ipython_extension(shell: object) -> None:
    """Load the extension for IPython and Jupyter: `%load_ext seismo` calls this; see docs/notebooks.md."""
    from seismo.plugins.ipython.magics import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Unload the extension: `%unload_ext seismo` calls this."""
    from seismo.plugins.ipython.magics import unload

    unload(shell)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'seismo' has no attribute {name!r}")
    from seismo.original_builtins import AtOnce

    with AtOnce():
        found = "read" if name == "open" else name
        value: object = getattr(__import__(home, fromlist=[found]), found)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
