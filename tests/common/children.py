"""Starting of Python in tests: the environment of children, and the time limit for them.

Compilers, git and shells do not need this; tests run them with subprocess.run.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from paths import COMMON, SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SECONDS = 120  # a child that runs longer is stuck: many times what the slowest needs on a busy machine
# Verbs that leave their process as it was: to start one takes longer than what they do in it.
READING = {"check", "completion", "diff", "export", "info", "merge", "query", "report"}
# Variables that are read whenever something is shown.
SHOWING = {"COLUMNS", "FORCE_COLOR", "NO_COLOR"}


def environment(*folders: str | Path, **more: str) -> dict[str, str]:
    """Return the tests' environment, in which the tested package and modules in these folders can be imported.

    A child killed by a signal prints its stacks. Variables about colours, columns and coverage.py are removed.
    """
    kept = {name: value for name, value in os.environ.items() if name not in SHOWING and "COVERAGE_" not in name}
    paths = os.pathsep.join(map(str, (SOURCE, *folders)))
    return {**kept, "PYTHONPATH": paths, "PYTHONFAULTHANDLER": "1", **more}


class Child(subprocess.Popen[str]):
    """A child with a time limit: a `with` block that fails, or that leaves it running, kills it."""

    def __exit__(self, *error: object) -> None:
        try:
            self.wait(timeout=0 if error[0] else SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
        super().__exit__(*error)  # type: ignore[arg-type]


def popen(command: Sequence[str | Path], env: Mapping[str, str] | None = None, **options: Any) -> Child:
    """Start a child in a new session; by default its streams are text pipes."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    settled = {"text": True, "start_new_session": True, **streams, **options}
    return Child(command, env=environment() if env is None else env, **settled)


def ended(child: subprocess.Popen[str], seconds: float = SECONDS, stdin: str | None = None) -> tuple[str, str]:
    """Return a child's output at its end. A stuck child prints its stacks and is killed, and the test fails.

    Processes that it left behind are killed with it, because they would keep the pipes open.
    """
    try:
        return child.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGABRT)  # faulthandler prints the stacks of all threads
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=10)
        with contextlib.suppress(ProcessLookupError):  # nobody is left
            os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate(timeout=10)
        raise AssertionError(f"it was stuck after {seconds} s\n{out}\n{err}") from None


def run(
    command: Sequence[str | Path], input: str | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a child to its end. With `check`, it must end with status 0."""
    if input is None:
        options = {"stdin": subprocess.DEVNULL, **options}
    with popen(command, **options) as child:
        out, err = ended(child, stdin=input)
    assert not check or child.returncode == 0, f"ended with {child.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def python(*words: object, status: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `python WORDS`, which must end with this status, or any if it is None."""
    done = run([sys.executable, *map(str, words)], **options)
    assert status in (None, done.returncode), f"ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def seismo(
    *words: object, status: int | None = 0, cwd: str | Path = ".", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run `seismo WORDS`; options in capitals are variables of its environment, others are those of `python`.

    What only reads runs in this process, unless it is given streams or more of an environment.
    """
    from seismo.cli.main import VERBS

    variables = {name: options.pop(name) for name in list(options) if name.isupper()}
    reads = not words or words[0] in READING or words[0] not in VERBS or "--help" in words
    if reads and not options and variables.keys() <= SHOWING and "/dev/stdout" not in words:
        return reading(*words, status=status, cwd=cwd, **variables)
    if variables:
        options["env"] = environment(**variables)
    return python("-m", "seismo", *words, status=status, cwd=cwd, **options)


def reading(
    *words: object, status: int | None = 0, cwd: str | Path = ".", merged: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `seismo WORDS` in this process. Return the finished process that it would be.

    With `merged`, stdout has what is written to stderr as well.
    """
    from seismo.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True) for _ in range(2))
    err = out if merged else err
    with (
        contextlib.chdir(cwd),
        patch.dict(os.environ, {**environment(), **variables}, clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(list(map(str, words)))
        except SystemExit as error:
            code = error.code  # type: ignore[assignment]
    done = subprocess.CompletedProcess(words, code or 0, *(_content(stream) for stream in (out, err)))
    assert status in (None, done.returncode), f"ended with {code}\n{done.stdout}\n{done.stderr}"
    return done


def _content(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode("utf-8", "surrogateescape")  # type: ignore[attr-defined,no-any-return]


def printed(program: str, *words: object, status: int = 0, **options: Any) -> str:
    """Return the output of a program text, which can import these helpers. Unless it fails, stderr must be empty."""
    done = python("-c", program, *words, status=status, **{"env": environment(COMMON), **options})
    assert status != 0 or done.stderr == "", done.stderr
    return done.stdout
