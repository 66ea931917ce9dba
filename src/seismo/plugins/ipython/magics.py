"""Magics for IPython and Jupyter: `%load_ext seismo`, then `%%seismo profile|lines|cover|objects` or `%seismo`.

The statements are compiled as IPython compiles a cell, but under the name of a temporary file with their text. So
tracebacks and reports find the source. IPython's run_cell() does not run them, because its own work would be recorded.
The value of the last expression is the result of the magic, as for %time.

If a cell fails, the table of what ran until then is shown. Then the magic raises the cell's error, so that "run all"
stops there, and IPython shows the error once.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any

from seismo.errors import SeismoError, UsageError
from seismo.options import of
from seismo.plugins.ipython import cell_results

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

USAGE = """seismo profile|lines|cover|objects [options] [STATEMENT]

%%seismo VERB [options] records the rest of the cell, %seismo VERB [options] STATEMENT the statement.

  profile            every call: which functions take the time
    --sort KEY         own (default), total, calls, awaiting
    --where EXPR       only these functions, such as module("app.*")
    --c-functions X    auto (default; on 3.11 none), all, none
    --time WHICH       wall (elapsed, the default), cpu (running), wait
  lines              how often each line runs, and for how long: of the cell, or of
    -f FUNC            these functions: an expression that gives one (several times)
    -m MODULE          all functions of these modules: a name or a glob (several times)
    --time WHICH       wall (elapsed, the default), cpu (running), wait
  cover              which lines of the cell ran, and of
    --source SOURCE    these packages or folders (several times)
    --branch           branches, too
    --counts           how often each line ran
  objects            births and deaths of objects: of which types, made by which lines
    --sort KEY         born (default), died, gc, live, peak, bytes, live-bytes, short
    --type GLOB        only objects of these types, such as dict or app.* (several times)
    --types            types only, not the lines that made them: costs less
  all of them
    -o FILE            keep the recording, for `seismo report` and `seismo export`
    --force            overwrite FILE even if it is not known to be seismo's
    -l N               rows of the table at most (default: 20)
    -q                 show no table
    -r                 the magic's result is the recording
"""

# The options of each verb, with True for those that take a value. SEVERAL lists those that may be repeated.
COMMON = {"-o": True, "--force": False, "-l": True, "-q": False, "-r": False, "-h": False, "--help": False}
VERBS: dict[str, dict[str, bool]] = {
    verb: COMMON | own | {option.word: not option.is_flag for option in of(f"%{verb}")}
    for verb, own in (
        ("profile", {"--sort": True, "--time": True}),
        ("lines", {"-f": True, "-m": True, "--time": True}),
        ("cover", {}),
        ("objects", {"--sort": True, "--type": True, "--types": False}),
    )
}
SEVERAL = ("-f", "-m", "--source", "--type")
_OPTION = re.compile(r"\s*(--?[a-z][a-z-]*)(=)?")
_VALUE = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|\S+)")


def load(shell: Any) -> None:
    """Register the magics %seismo and %%seismo with the shell."""

    def seismo(line: str, cell: str | None = None) -> object:
        return magic(shell, line, cell)

    seismo.__doc__ = USAGE
    shell.register_magic_function(seismo, "line_cell", "seismo")


def unload(shell: Any) -> None:
    """Remove the magics."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("seismo", None)


def magic(shell: Any, line: str, cell: str | None) -> object:
    """Run the magic and return its result. Usage errors are shown in one line, like those of IPython's own magics."""
    from IPython.core.error import UsageError as Mistake

    try:
        return _magic(shell, line, cell)
    except SeismoError as error:
        raise Mistake("\n".join(error.lines())) from None


def _magic(shell: Any, line: str, cell: str | None) -> object:
    verb, _, rest = line.strip().partition(" ")
    if verb in ("", "-h", "--help", "help"):
        print(USAGE)
        return None
    if verb not in VERBS:
        raise UsageError(f"there is no %seismo {verb!a}", hint=f"use one of {', '.join(VERBS)}; see %seismo --help")
    options, statement = read(verb, rest)
    if "-h" in options or "--help" in options:
        print(USAGE)
        return None
    if cell is None and not statement.strip():
        raise UsageError(f"record what? %seismo {verb} STATEMENT, or %%seismo {verb} on a cell")
    if cell is not None and statement.strip():
        raise UsageError(f"unexpected text after the options of a cell: {statement.strip()!a}")
    if "-o" in options:  # before the cell runs
        from seismo import formats
        from seismo.formats.destination import check_free

        check_free(options["-o"], "--force" in options, formats.for_path(options["-o"]).mark)
    limit = options.get("-l", "20")
    if not limit.isdecimal() or int(limit) < 1:
        raise UsageError(f"-l cannot be {limit!a}", hint="give a whole number above 0")
    try:
        run = Cell(shell, statement if cell is None else cell)
    except (SyntaxError, ValueError, OverflowError) as error:  # compile() raises these for bad source text
        raise Failed.of(error, shell.SyntaxTB.structured_traceback(type(error), error, [])) from None
    functions = [_function(shell, text) for text in options.get("-f", ())]
    recorder = cell_results.RESULTS[verb](options, int(limit), run.file, functions, shell.compile._filename_map)
    run.run(recorder.session)
    try:
        recording = recorder.recording
        if "-o" in options:
            recording.save(options["-o"])
        if "-q" not in options:
            from IPython.display import display

            display(recorder)  # type: ignore[no-untyped-call]
    finally:
        if run.error is not None:
            trace = run.error.__traceback__
            lines = shell.InteractiveTB.structured_traceback(type(run.error), run.error, trace, tb_offset=0)
            raise Failed.of(run.error, lines).with_traceback(trace) from None
    return recording if "-r" in options else run.value


def read(verb: str, text: str) -> tuple[dict[str, Any], str]:
    """Return the options at the beginning of the text, and the unchanged rest. Raise UsageError for a bad option."""
    allowed = VERBS[verb]
    options: dict[str, Any] = {}
    while option := _OPTION.match(text):
        name, equals = option.groups()
        if name not in allowed:
            raise UsageError(f"%seismo {verb} has no option {name}", hint=f"it has {' '.join(sorted(allowed))}")
        text = text[option.end() :]
        if not allowed[name]:
            options[name] = True
            continue
        value = _VALUE.match(text)
        if value is None or (equals and value[0][:1].isspace()):
            raise UsageError(f"{name} needs a value")
        text = text[value.end() :]
        word = value[1]
        if word[0] in "\"'" and word[0] == word[-1] and len(word) > 1:
            word = word[1:-1]
        if name in SEVERAL:
            options.setdefault(name, []).append(word)
        else:
            options[name] = word
    return options, text


def _function(shell: Any, text: str) -> CodeType:
    """Return the code of the function that an expression evaluates to. Raise UsageError if there is none."""
    try:
        value = eval(text, shell.user_global_ns, shell.user_ns)  # noqa: S307  the user's own expression
    except Exception as error:  # noqa: BLE001  the user's expression may raise anything
        raise UsageError(f"-f {text}: {type(error).__name__}: {error}") from None
    if isinstance(value, (property, classmethod, staticmethod)):
        value = value.fget if isinstance(value, property) else value.__func__
    code: CodeType | None = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    if code is None:
        raise UsageError(f"-f {text} is not a Python function", hint="it takes a function or method")
    return code


class Cell:
    """Statements compiled as in IPython. file: their co_filename. value: their result. error: what they raised."""

    def __init__(self, shell: Any, text: str) -> None:
        self.shell = shell
        self.value: object = None
        self.error: BaseException | None = None
        source = shell.transform_cell(text)
        self.file = _kept(shell, source)
        tree = shell.transform_ast(shell.compile.ast_parse(source, filename=self.file))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._names = shell.user_global_ns, shell.user_ns  # looked up here, because calls inside run() are recorded
        self._quiet = text.rstrip().endswith(";")
        with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
            self._body = shell.compile(tree, self.file, "exec")
            self._last = None if last is None else shell.compile(ast.Expression(last.value), self.file, "eval")

    def run(self, session: Any) -> None:
        """Run the statements inside the session, and store an exception in `error`."""
        try:
            with session:
                self._run(self._body)
                if self._last is not None:
                    self.value = self._run(self._last)
        except SeismoError:
            raise
        except BaseException as error:  # noqa: BLE001  the cell may raise anything
            trace = error.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            self.error = error.with_traceback(trace)
        if self._quiet:
            self.value = None

    def _run(self, code: CodeType) -> object:
        result = eval(code, *self._names)  # noqa: S307  runs the user's cell
        if not code.co_flags & inspect.CO_COROUTINE:
            return result
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self.shell.loop_runner(result)
        result.close()
        hint = "put it into a function that runs in a thread of its own, with asyncio.run"
        raise UsageError(
            "a cell with await cannot be recorded: the event loop of the notebook is already running", hint=hint
        )


_folder: tempfile.TemporaryDirectory[str] | None = None  # the folder with the source files of recorded cells
_numbers = itertools.count(1)


def _kept(shell: Any, source: str) -> str:
    """Return the path of a new file with the source, registered with linecache and IPython for tracebacks."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="seismo-cells-")
    # A cell with coverage makes this folder a source.
    folder = os.path.join(os.path.realpath(_folder.name), str(next(_numbers)))
    os.mkdir(folder)
    number = _number(shell)
    path = os.path.join(folder, cell_results.cell_name(number))
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(source)
    linecache.cache[path] = (len(source), None, [line + "\n" for line in source.split("\n")], path)
    shell.compile._filename_map[path] = number
    return path


def _number(shell: Any) -> int:
    """Return the number of the calling cell, which may be lower than the shell's counter."""
    frame = inspect.currentframe()
    while frame is not None:
        number: int | None = shell.compile._filename_map.get(frame.f_code.co_filename)
        if number is not None:
            return number
        frame = frame.f_back
    return int(shell.execution_count)


class Failed(Exception):  # noqa: N818  IPython shows it under the name of the cell's error
    """Raised to end a cell, so that IPython shows the cell's error once and without seismo's frames."""

    lines: list[str]

    @classmethod
    def of(cls, error: BaseException, lines: list[str]) -> Failed:
        """Return an instance with the error's name and message, which a notebook stores, and the lines to show."""
        make: Callable[..., Failed] = type(type(error).__name__, (cls,), {"lines": lines})
        return make(str(error))

    def _render_traceback_(self) -> list[str]:
        return self.lines
