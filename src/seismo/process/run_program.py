"""Run a program as `python SCRIPT`, `python -m MODULE`, `python -c CODE` or `python -` would, and record it.

Shape. The program runs inside a call of this module, but the interpreter handles its end. Its exceptions propagate
through seismo's frames to the interpreter's top level. So SystemExit, the exit status, death by SIGINT, waiting for
threads, atexit handlers and the flushing of files need no imitation. Three things are arranged:

- The program's first frame looks like the bottom of the stack (hub/hidden_frames.h).
- Just before an exception leaves this module, sys.excepthook is replaced. The new hook removes seismo's frames from the
  traceback, restores the program's hook and calls it. The interpreter's own hook is not recorded.
- seismo's own end (stop the engine, finish the file, write the summary) is the first atexit handler to be registered.
  So it runs last, after the program's threads and handlers. os._exit and os.exec* skip atexit handlers, so
  process.exit_and_exec is notified before them.

The program does not run in a fresh interpreter, because a second start would cost more than all the rest together.
"""

from __future__ import annotations

import io
import os
import sys

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import startup_guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType, TracebackType
    from typing import Any


_OTHER_LISTENERS = ("seismo.hooks", "seismo.process.coverage", "seismo.sessions.watch")
# Read before the program runs, because the program may replace sys.__excepthook__.
_INTERPRETER_HOOK = sys.__excepthook__


class Program:
    """The program to run. args: its arguments.

    kind: "script", "module", "code" or "stdin". what: its path, name or text, or "-" for stdin. text: the source that
    read_stdin() has read.
    """

    __slots__ = ("args", "importable", "kind", "text", "what")

    def __init__(self, kind: str, what: str, args: list[str]) -> None:
        self.kind = kind
        self.what = what
        self.args = args
        self.text = b""
        self.importable = kind == "script" and _importable(self.full)  # True for a folder or archive with a __main__.py

    @property
    def full(self) -> str:
        """Return the path of a script in the form of its __file__: absolute, not normalised."""
        if self.what.startswith("/"):
            return self.what
        return os.getcwd() if self.what == "." else f"{os.getcwd()}/{self.what}"

    @property
    def flows(self) -> bool:
        """Return True for a script in a pipe, which can be opened only once because reading consumes it."""
        from stat import S_ISFIFO

        try:
            return self.kind == "script" and S_ISFIFO(os.stat(self.what).st_mode)
        except (OSError, ValueError):
            return False

    @property
    def argv(self) -> list[str]:
        """Return the program's initial sys.argv, in which runpy will replace -m by the module's path."""
        return [{"module": "-m", "code": "-c"}.get(self.kind, self.what), *self.args]

    @property
    def command(self) -> list[str]:
        """Return the words after `python` that run the same program without seismo."""
        if self.kind in ("script", "stdin"):
            return [self.what, *self.args]
        return ["-m" if self.kind == "module" else "-c", self.what, *self.args]

    @property
    def name(self) -> str:
        """Return a short name for files."""
        if self.kind == "code":
            return "command"
        if self.kind == "stdin":
            return "stdin"
        name = self.what if self.kind == "module" else os.path.splitext(os.path.basename(self.what.rstrip("/")))[0]
        return "".join(c if c.isprintable() and c != "/" else "_" for c in name)[:80] or "program"

    def read_stdin(self) -> None:
        """Read a program from the standard input to its end, as the interpreter does. Raises OSError."""
        while some := os.read(0, 1 << 16):
            self.text += some


def run(program: Program, begin: Callable[[], None], ended: Callable[[str], None]) -> None:
    """Run the program, and return or raise as it does.

    begin: called last before its first instruction. ended: called at the end of its main module, before its threads and
    atexit handlers end, with an exit status as text or an exception's name.
    """
    from seismo import _core  # the recorder has loaded the core already

    main = _prepare(program)
    code: CodeType | None = None
    began = False
    try:
        startup_guard.allow_interrupts()
        if program.kind == "code":
            code = _compile_command(program.what)
        elif program.kind == "script" and not program.importable:
            code = _load_script(program.full, main)
        elif program.kind == "stdin":
            _set_file(main, "<stdin>")
            code = _compiled(program.text, "<stdin>")
        startup_guard.defer_interrupts()
        if code is not None:
            try:
                _begin(begin)
                began = True
                _core.run_program(code, main.__dict__)
            finally:
                if program.kind in ("script", "stdin"):  # the interpreter removes these names, too
                    main.__dict__.pop("__file__", None)
                    main.__dict__.pop("__cached__", None)
        else:
            from runpy import _run_module_as_main  # type: ignore[attr-defined]  # `python -m` calls this function

            words = (program.what,) if program.kind == "module" else ("__main__", False)
            _begin(begin)
            began = True
            _core.run_program(_run_module_as_main, words)
        _core.quietly(ended, "0")  # a debugger may still be stepping, and must not step into ended()
    except BaseException as error:
        _core.quietly(_over, error, began, ended)
        raise


def _begin(begin: Callable[[], None]) -> None:
    begin()
    startup_guard.restore_lazy_imports()
    startup_guard.allow_interrupts()


def _over(error: BaseException, began: bool, ended: Callable[[str], None]) -> None:
    if isinstance(error, SystemExit):
        ended(_status(error))
    else:
        ended(type(error).__name__)
        _hide_our_frames(error, began)


def _status(stop: SystemExit) -> str:
    code: object = vars(SystemExit)["code"].__get__(stop)
    # The program has its own attribute `code`, which only the interpreter may read.
    if getattr(type(stop), "code", None) is not vars(SystemExit)["code"]:
        return type(stop).__name__
    if isinstance(code, int):
        # The exit status is the low byte, as in C.
        return str(int.__and__(code, 0xFF) if -(1 << 63) <= code < 1 << 63 else 0xFF)
    return "0" if code is None else "1"


def _prepare(program: Program) -> ModuleType:
    """Set up the module sys as at the start of the program. Return an empty __main__ for the program."""
    from seismo import _core

    given = len(sys.argv) - 1
    sys.argv = program.argv
    _restore_orig_argv(program, given)
    if not sys.flags.safe_path:
        first = ""
        if program.kind == "module":
            first = os.getcwd()
        elif program.kind == "script":
            first = program.full if program.importable else _folder_of(program.what)
        sys.path[:1] = [first]
        _core.set_first_path(first)
    elif program.importable:
        sys.path.insert(0, program.full)  # the interpreter adds the path of a folder or archive even with -P
        _core.set_first_path(program.full)
    return _new_main()


def _folder_of(script: str) -> str:
    """Return the folder of a script. For a link to a pipe (/dev/stdin), only the first step has a path."""
    try:
        return os.path.dirname(os.path.realpath(script, strict=True))
    except OSError:
        step = os.readlink(script) if os.path.islink(script) else ""
        return os.path.dirname(os.path.join(os.path.dirname(script), step) if step else script)


def _restore_orig_argv(program: Program, given: int) -> None:
    """Set sys.orig_argv as without seismo, because a program may restart itself by it (auto-reloaders do)."""
    words = sys.orig_argv
    head = words[: len(words) - given] if 0 < given < len(words) else words[:1]
    if head and head[-1] == "seismo" and len(head) > 2:
        head = head[:-2]  # remove -m seismo
    elif len(head) > 1:
        head = head[:-1]  # remove the script `seismo`, or -mseismo
    sys.orig_argv[:] = [*head, *program.command]


def _new_main() -> ModuleType:
    """Return a __main__ with the same names in the same order as the interpreter's own."""
    import builtins

    old = sys.modules["__main__"]
    main = type(sys)("__main__")
    if sys.version_info < (3, 14):
        main.__dict__["__annotations__"] = {}  # noqa: RUF063  this creates the dictionary
    main.__dict__["__builtins__"] = builtins
    main.__loader__ = sys.modules["_frozen_importlib"].BuiltinImporter
    sys.modules["__main__"] = main
    _kept.append(old)  # seismo's own frames further down the stack still use its globals
    return main


_kept: list[ModuleType] = []


def _importable(path: str) -> bool:
    """Return True for a folder or an archive with a __main__.py; asks the import hooks, as the interpreter does."""
    for hook in sys.path_hooks:
        try:
            hook(path)
        except ImportError:
            continue
        return True
    return False


def _load_script(full: str, main: ModuleType) -> CodeType:
    """Return the script's code, and set the script's names in __main__. Raise errors of the compiler."""
    external = sys.modules["_frozen_importlib_external"]
    compiled = full.endswith(".pyc")
    loader_type = external.SourcelessFileLoader if compiled else external.SourceFileLoader
    _set_file(main, full)
    main.__loader__ = loader_type("__main__", full)
    if compiled:
        code: CodeType = main.__loader__.get_code("__main__")  # type: ignore[union-attr]
        return code
    with io.open_code(full) as file:
        source = file.read()
    return _compiled(source, full)


def _set_file(main: ModuleType, name: str) -> None:
    main.__dict__["__file__"] = name
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None


def _compiled(text: bytes | str, name: str) -> CodeType:
    """Compile a program as compile() would, without creating the classes of syntax trees."""
    from seismo import _core

    # Compile() rejects null bytes in the words of this Python version.
    if (b"\0" in text) if isinstance(text, bytes) else ("\0" in text):
        code: CodeType = compile(text, name, "exec", 0, dont_inherit=True)
        return code
    return _core.compile_program(text, name)


def _compile_command(text: str) -> CodeType:
    """Return the code of -c, with its text registered for tracebacks (3.13 and later show it)."""
    if sys.version_info >= (3, 14):
        text = _dedent(text)
    code = _compiled(text, "<string>")
    if sys.version_info >= (3, 13):
        import linecache

        # Python 3.13.0 looks the text up by the file's name, later versions by the code object.
        key = code if hasattr(linecache, "_interactive_cache") else "<string>"
        linecache._register_code(key, text, "<string>")  # type: ignore[attr-defined]
    return code


def _dedent(text: str) -> str:
    """Dedent the text of -c as 3.14 does: remove common leading white space, and empty blank lines."""
    lines = text.split("\n")
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip(" \t")]
    margin = os.path.commonprefix(margins) if margins else ""  # noqa: RUF071  the strings are margins of white space
    return "\n".join(line[len(margin) :] if line.strip(" \t") else "" for line in lines)


def _hide_our_frames(error: BaseException, began: bool) -> None:
    """Make the interpreter print the exception without seismo's frames. began: False for an error of the compiler.

    The traceback begins with the frame of run(), and frames further down are added while the exception propagates. So
    the clean traceback is put in place when the interpreter, at its top level, calls the hook.
    """
    from seismo import _core
    from seismo.process import engine  # the hook below is recorded until it calls this

    begin = error.__traceback__
    clean = begin.tb_next if begin is not None and began else None
    program_hook = getattr(sys, "excepthook", None)

    def unrecorded(*hook_and_arguments: Any) -> None:
        engine.unrecorded(_core.run_at_bottom, *hook_and_arguments)

    # The interpreter's printing of a traceback may be far more work than the rest of the program.
    call = unrecorded if program_hook is _INTERPRETER_HOOK and _records_alone() else _core.run_at_bottom

    def excepthook(kind: type[BaseException], value: BaseException, dirty: TracebackType | None) -> None:
        if program_hook is None:
            del sys.excepthook
            hook = sys.__excepthook__
            print("sys.excepthook is missing", file=sys.stderr)
        else:
            hook = sys.excepthook = program_hook
        if value is not error:
            call(hook, (kind, value, dirty))
            return
        value.__traceback__ = sys.last_traceback = clean
        try:
            call(hook, (kind, value, clean))
        except SystemExit:
            raise  # the interpreter exits with its status
        except BaseException as inner:  # noqa: BLE001  the interpreter catches every exception, too
            inner.__context__ = None if inner.__context__ is error else inner.__context__
            _report_broken_hook(inner, error)

    sys.excepthook = excepthook


def _records_alone() -> bool:
    """Return True if no debugger, tracer, watch or coverage would miss the events that are not recorded."""
    from seismo.process import engine

    if not engine.users or sys.gettrace() is not None or sys.getprofile() is not None:
        return False
    if any(name in sys.modules for name in _OTHER_LISTENERS):
        return False
    monitoring = getattr(sys, "monitoring", None)
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring is not None else []
    return all(tool is None or tool == "seismo" for tool in tools)


def _report_broken_hook(inner: BaseException, error: BaseException) -> None:
    """Print the error of a sys.excepthook that raises, as the interpreter does."""
    trace = inner.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == _report_broken_hook.__code__.co_filename:
        trace = trace.tb_next
    inner = inner.with_traceback(trace)
    stderr = sys.stderr
    if stderr is None:
        return
    stderr.write("Error in sys.excepthook:\n")
    sys.__excepthook__(type(inner), inner, inner.__traceback__)
    stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, error.__traceback__)
