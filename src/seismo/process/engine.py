"""The engine of this process, shared by `seismo profile`, sessions, and followed children.

The native engine records the whole process, so a second user only joins. This module counts the users, compares their
settings, and keeps the engine consistent across fork.

In a forked child the engine waits for `users.forked_hook`, which the first user sets, to decide how to continue.
"""

from __future__ import annotations

import os
import sys

from seismo import __version__, _core, recording_kinds
from seismo.errors import RecordingError, UsageError
from seismo.options import SETTINGS as OPTIONS
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.recorder_users import RecorderUsers
from seismo.process.secrets import masked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import FrameType
    from typing import Any, TypeVar, TypeVarTuple

    from seismo.expression import Expression

    T = TypeVar("T")
    Ts = TypeVarTuple("Ts")
# Frames of files below this folder are left out of every recording.
HIDE = __file__[: -len("process/engine.py")]

_launchers: set[str] = set()


def hide_launcher() -> None:
    """Leave out the script that started seismo, whose last lines run after the program's end."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_globals.get("__name__") == "__main__" and not name.startswith(HIDE):
            _launchers.add(name)
        frame = frame.f_back


def hidden(also: Iterable[str] = ()) -> str:
    """Return the files to leave out, one per line. A path with a trailing slash stands for all files below it."""
    return "\n".join([HIDE, *sorted(printable(name) for name in {*_launchers, *also} if "\n" not in name)])


# The engine's recorders, which run one at a time: for each its activity, and a hint for users who want both.
_RECORDS = {name: entry.engine for name, entry in recording_kinds.KINDS.items() if entry.engine is not None}

SETTINGS = {
    **{name: option.choices or (0, 1) for name, option in OPTIONS.items() if not option.metavar},
    "source": (None, *OPTIONS["source"].choices),
    "recorder": tuple(_RECORDS),
    "journal": (0, 1),  # 1 adds a trace's journal to a recording of calls
    "apart": (0, 1),  # 1 leaves out threads that run already, except the caller's
}

# The terms that `where` of a recording can use.
_STATIC = ("module", "function", "qualname", "file", "line")
_STATIC_WHY = (
    "a function is recorded or left out as a whole, before it runs: only module, function, qualname, file, line, "
    "call and c_call can say so; what it did is for seismo report --where"
)

_SPAN_WHY = (
    "a span is the call of a function, chosen before it runs: only module, function, qualname, file, line and call "
    "can say which"
)


def given(verb: str, options: Mapping[str, object]) -> dict[str, object]:
    """Return a verb's options that are not None. Raises UsageError as `check` does, TypeError for an unknown one."""
    found: dict[str, object] = {}
    for name, value in options.items():
        if name not in OPTIONS or verb not in OPTIONS[name].verbs:
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}")
        if value is not None:
            read = _EXPRESSIONS.get(name)
            found[name] = str(quietly(read, value)) if read else int(value) if isinstance(value, bool) else value
    check(found)
    return found


def check(settings: dict[str, object]) -> None:
    """Raise UsageError for a value that a setting cannot have."""
    for name, value in settings.items():
        if name in _EXPRESSIONS:
            _EXPRESSIONS[name](value)
            continue
        allowed = SETTINGS.get(name)
        if allowed is not None and value not in allowed:
            words = ", ".join(repr(one) for one in allowed if one is not None)
            raise UsageError(f"{name} cannot be {value!r}", hint=f"use one of {words}")
        verb = recording_kinds.entry(str(settings.get("recorder", recording_kinds.CALLS))).verb
        if name == "timing" and value == "none" and verb not in OPTIONS[name].verbs:
            raise UsageError("only calls can be recorded without times", hint="leave timing out")
        if name == "timing" and value == "none" and settings.get("journal"):
            raise UsageError("a trace has times", hint="seismo profile counts calls without them")
        if name in ("clock", "rate") and settings.get("timing") == "none":
            raise UsageError(f"timing='none' records no times, and {name} is about times", hint="leave one of them out")
        if allowed is None and not (isinstance(value, int) and value > 0):
            raise UsageError(f"{name} cannot be {value!r}", hint="give a whole number above 0")


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """Return a choice of the user's. Raises UsageError if it is none of these."""
    if value not in choices:
        raise UsageError(f"{name} cannot be {value!r}", hint=f"use one of {', '.join(choices)}")
    return value


def narrowed(where: object) -> Expression:
    """Return the checked expression of a `where`, which may be text. Raises UsageError if it selects no function."""
    return _checked(where, ("call", "c_call"), _STATIC_WHY)


def only_expression(only: Iterable[str], where: str | Expression | None = None) -> str | None:
    """Return the expression for the chosen functions, or None if all are. Raises UsageError.

    Each item of `only` is the name of a module, a function (with or without its module) or a file, or a glob. A name
    without *, ?, [ includes what is inside: a package's modules, a class's methods, a function's inner ones.
    """
    from seismo.expression.lexer import quoted

    terms = []
    for glob in only:
        if not glob:
            raise UsageError(f"only cannot be {glob!r}", hint="it is a glob or a name, such as 'app.core.*'")
        names = quoted(glob)
        if not any(sign in glob for sign in "*?["):
            names += ", " + quoted(glob + ".*")
        terms.append(f"module({names}) or call({names}) or file({quoted(glob)})")
    text = " or ".join(terms)
    if where is not None:
        also = str(narrowed(where))
        text = f"({text}) and ({also})" if text else also
    return str(narrowed(text)) if text else None


def spanned(span: object) -> Expression:
    """Return the checked expression of a `span`, in which a bare name stands for call("NAME"). Raises UsageError."""
    from seismo.expression import KINDS

    if isinstance(span, str) and span not in KINDS and all(part.isidentifier() for part in span.split(".")):
        span = f'call("{span}")'
    return _checked(span, ("call",), _SPAN_WHY)


def _checked(given: object, kinds: tuple[str, ...], why: str) -> Expression:
    from seismo.expression import Expression, parse

    expression = given if isinstance(given, Expression) else parse(given)  # type: ignore[arg-type]
    return expression.only(_STATIC, kinds, why)


_EXPRESSIONS = {"where": narrowed, "span": spanned}


def _agree(wanted: dict[str, object]) -> None:
    defaults: dict[str, object] = {name: allowed[0] for name, allowed in SETTINGS.items()}
    has, wants = str(users.settings["recorder"]), str(wanted["recorder"])
    if wants != has:
        (running, one), (wish, other) = _RECORDS[has], _RECORDS[wants]
        raise UsageError(
            f"{running} in this process already: {wish} by the same engine, not at the same time",
            hint=f"there is one engine in a process: {one} in one run, and {other} in another",
        )
    for name, value in wanted.items():
        set_ = users.settings.get(name, defaults.get(name))
        if name == "apart":  # a nested session records the threads of the outer one
            continue
        if (name in SETTINGS or name in _EXPRESSIONS) and value != set_:
            raise UsageError(
                f"a recording with {name}={set_!r} is running in this process: another cannot have {name}={value!r}",
                hint=f"a process has one engine; leave {name} out, or set it where the first recording starts",
            )


def start_core(
    settings: dict[str, object],
    fd: int,
    meta: str,
    frames: bool = True,
    hide: Iterable[str] = (),
    what: str = "this program",
) -> None:
    """Start a recording of the native core. what: is recorded, for the RecordingError if that is impossible here."""
    options: dict[str, object] = dict(settings)
    if not frames:
        options["running"] = False
    for name, read in _EXPRESSIONS.items():
        if name in options:
            options[name] = native_filter(read(options[name]).program, what)
    try:
        _core.start(fd=fd, meta=meta, hide=hidden(hide), **options, **about_process())  # type: ignore[arg-type]
    except (RuntimeError, ValueError) as reason:
        raise RecordingError(f"{what} cannot be recorded", str(reason), "see: seismo doctor") from None


def native_filter(program: bytes, what: str = "this program") -> _core.Filter:
    """Return the native filter of a compiled expression. Raise RecordingError where this interpreter has none."""
    try:
        return _core.Filter(program)
    except RuntimeError as reason:
        raise RecordingError(f"{what} cannot be recorded", str(reason), "see: seismo doctor") from None


def about_process() -> dict[str, str]:
    """Return the fields of this process in the table of processes that only Python has."""
    return {
        "interpreter": f"{sys.implementation.name} {sys.version.split(maxsplit=1)[0]}",
        "host": printable(os.uname().nodename),
        "argv": json_text(_notebook() or masked(sys.orig_argv)),
    }


def _notebook() -> list[str]:
    """Return the name of the notebook that this process is the kernel of, or an empty list if it is no kernel."""
    if "ipykernel_launcher" not in sys.orig_argv:
        return []
    variables = getattr(sys.modules.get("__main__"), "__dict__", {})
    # Names set by Jupyter and by VS Code.
    names = os.environ.get("JPY_SESSION_NAME"), variables.get("__vsc_ipynb_file__")
    return [next((os.path.basename(name) for name in names if isinstance(name, str) and name), "Jupyter kernel")]


def after_fork(fd: int, meta: str = "{}") -> None:
    """Forget the parent's counts in a forked child, and go on into fd (-1 for memory; -2 to stop silently)."""
    _core.after_fork(fd, meta)
    if fd == -2:
        users.clear()


users = RecorderUsers(after_fork)


class Recorder:
    """A recorder of the engine. users: its users. at_end: settings that only the end of the recording uses."""

    users = users
    at_end: tuple[str, ...] = ()
    name = recording_kinds.CALLS

    def __init__(self, name: str = "", hide: Iterable[str] = ()) -> None:
        """Set the recorder's name if it is not the usual one. hide: as start() takes it."""
        self.name = name or self.name
        self._hide = tuple(hide)

    def start(self, settings: dict[str, object], fd: int, forked: Callable[[], None]) -> None:
        """Start recording into fd. forked: called in a forked child; must end in after_fork. Raises SeismoError."""
        self.users.forked_hook = forked
        try:
            self.begin(settings, fd)
        except BaseException:
            self.users.forked_hook = None
            raise

    def abandon(self) -> None:
        """Stop, and drop what is recorded."""
        self.end("")
        self.users.forked_hook = None

    def stop(self, exit_: str = "") -> None:
        """Stop, and save how the program ended."""
        self.end(exit_)

    def begin(self, settings: dict[str, object], fd: int, user: object = None) -> bool:
        """Start the engine, or join it if it runs. Return True if it was started and took over fd.

        settings: values for SETTINGS, max_paths, flush_ms, depth, min_duration_ns, and those of `at_end`; missing ones
        mean the default, or the running engine's. fd: -1 for memory. user: the session; None for the whole process,
        whose current frames are ours and the interpreter's, and left out. Raises UsageError for invalid values and
        conflicts with the running engine, and RecordingError if this interpreter cannot be recorded.
        """
        if user is None and settings.get("timing") == "none":  # without garbage from before, counts are reproducible
            begin_collecting()
        wanted = {name: value for name, value in settings.items() if name not in self.at_end}
        wanted["recorder"] = self.name
        check(wanted)
        about = meta({name: value for name, value in settings.items() if name != "apart"}, self.name)
        return self.users.start(
            user, wanted, lambda: start_core(wanted, fd, about, user is not None, self._hide), _agree
        )

    def end(self, exit_: str = "", user: object = None) -> bool:
        """Remove one user. Return True if it was the last, so that the recorder has stopped."""
        return self.users.stop(user, lambda: self._core("stop", exit_))

    def after_fork(self, fd: int, settings: dict[str, object]) -> None:
        """Continue a forked child's recording into fd, or stop it (-2)."""
        after_fork(fd, meta(settings, self.name) if fd != -2 else "{}")

    def flush(self) -> None:
        """Bring the file up to date."""
        self._core("flush")

    def ahead(self, exit_: str, ask: bool = False) -> None:  # noqa: ARG002  the recorder of objects uses it
        """Write everything as if the process ended now; exit_ says how, and "" undoes it. ask: include costly parts."""
        self._core("ahead", exit_)

    def move(self, fd: int) -> bool:
        """Continue in another file, a copy of the recording's. Return False if that file has fewer bytes."""
        return bool(self._core("move", fd))

    def write_error(self) -> int:
        """Return the errno of a failed write, or 0. A complete trace has none: a snapshot would have no journal."""
        status = self._core("status")
        return 0 if status.get("journal_kept") else int(status.get("write_error") or 0)

    def file(self) -> tuple[int, int]:
        """Return device and inode of the recording's file, or (0, 0) if there is none."""
        found: tuple[int, int] = self._core("file")
        return found

    def snapshot(self) -> bytes:
        """Return the whole recording as a file's content."""
        return bytes(self._core("snapshot"))

    def _core(self, name: str, *args: object) -> Any:
        return getattr(_core, name)(*args, self.name)


def begin_collecting() -> None:
    """Collect all garbage, so that the cycle collector runs at the same places in each run."""
    import gc

    if gc.isenabled():
        gc.collect()


# Calls a function without recording this thread. The function must not start the engine, which measures events.
quietly = _core.quietly


def unrecorded(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call the function as quietly() does, without recording the objects that this thread makes either."""
    _core.objects_quiet(True)
    try:
        return _core.quietly(function, *args)
    finally:
        _core.objects_quiet(False)


def printable(text: str) -> str:
    """Return the text with surrogates, which stand for undecodable bytes of the system, escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _quote(text: str) -> str:
    """Return the text as JSON in ASCII, without importing json, or the library of its encoder."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    units = memoryview(text.encode("utf-16", "surrogatepass"))[2:].cast("H")  # without the mark of the byte order
    safe = {*range(0x20, 0x7F)} - {*b'"\\'}
    return '"' + "".join(chr(unit) if unit in safe else f"\\u{unit:04x}" for unit in units) + '"'


def meta(settings: dict[str, object], recorder: str = recording_kinds.CALLS, **more: object) -> str:
    """Return the recording's metadata as JSON. more: further fields by name."""
    fields = {
        "format": 1,
        "seismo": __version__,
        "python": sys.version.split(maxsplit=1)[0],
        "implementation": sys.implementation.name,
        "platform": sys.platform,
        "executable": sys.executable or "",
        "settings": settings,
        "recorder": recorder,
    }
    return json_text({**fields, **more})


def from_json(text: str) -> object:
    """Return the value of a JSON text, without importing json. Raises ValueError for invalid text."""
    from _json import make_scanner

    class Scanning:
        """The settings of json's C scanner, as json.loads has them."""

        strict = True
        object_hook = object_pairs_hook = array_hook = parse_constant = None
        parse_float, parse_int = float, int

    try:
        value, end = make_scanner(Scanning())(text, 0)  # type: ignore[arg-type]
    except StopIteration:
        end = -1
    if end != len(text):
        raise ValueError("this is not JSON")
    return value


def json_text(value: object) -> str:
    """Return text, numbers, booleans, None, and lists and dicts of these as JSON in ASCII, without importing json."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(json_text, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quote(name)}: {json_text(one)}" for name, one in value.items()) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quote(value) if isinstance(value, str) else "null" if value is None else str(value)
