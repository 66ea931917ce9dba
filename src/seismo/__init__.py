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

Nothing is imported until it is used: `import seismo` in a program that never records costs next to nothing.

PYTEST_DONT_REWRITE: there is no assertion here to be rewritten. Where pytest itself is recorded this module is there
before pytest, which would warn that it comes too late to rewrite it.
"""

if not __doc__:  # python -OO
    __doc__ = "PYTEST_DONT_REWRITE"

__version__ = "0.1.0"

# RecordingError is to be had here, too: use one of those that catching SeismoError catches.
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

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from seismo.errors import RecordingError as RecordingError
    from seismo.errors import SeismoError
    from seismo.model import Recording, merge
    from seismo.model import read as open  # noqa: A004  as in gzip.open
    from seismo.sessions.cover import cover
    from seismo.sessions.lines import lines
    from seismo.sessions.objects import objects
    from seismo.sessions.profile import profile, start, stop
    from seismo.sessions.trace import trace
    from seismo.sessions.trace_marks import count, mark, span
    from seismo.sessions.watch import watch

# A public name, the module it lives in, and its name there.
_HOMES = {
    "Recording": ("seismo.model", "Recording"),
    "RecordingError": ("seismo.errors", "RecordingError"),
    "SeismoError": ("seismo.errors", "SeismoError"),
    "count": ("seismo.sessions.trace_marks", "count"),
    "cover": ("seismo.sessions.cover", "cover"),
    "lines": ("seismo.sessions.lines", "lines"),
    "mark": ("seismo.sessions.trace_marks", "mark"),
    "merge": ("seismo.model", "merge"),
    "open": ("seismo.model", "read"),
    "profile": ("seismo.sessions.profile", "profile"),
    "objects": ("seismo.sessions.objects", "objects"),
    "span": ("seismo.sessions.trace_marks", "span"),
    "start": ("seismo.sessions.profile", "start"),
    "stop": ("seismo.sessions.profile", "stop"),
    "trace": ("seismo.sessions.trace", "trace"),
    "watch": ("seismo.sessions.watch", "watch"),
}


def get_include() -> str:
    """Return the folder of seismo.h, for the compiler's -I: the C API, see docs/c-api.md."""
    return f"{__path__[0]}/include"


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext seismo` calls in IPython and Jupyter: see docs/notebooks.md."""
    from seismo.plugins.ipython.magics import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """What `%unload_ext seismo` calls."""
    from seismo.plugins.ipython.magics import unload

    unload(shell)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'seismo' has no attribute {name!r}")
    from seismo.original_builtins import AtOnce

    with AtOnce():
        value: object = getattr(__import__(home[0], fromlist=[home[1]]), home[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
