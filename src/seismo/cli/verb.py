"""Verbs that run a program: their options and words, read up to the program's own words.

The words are read by hand, because argparse would take longer than the rest of the start; only --help uses it. Verbs
that record are in seismo.cli.recording.
"""

from __future__ import annotations

from seismo.cli.failures import failed
from seismo.cli.options import READERS, one_of
from seismo.errors import SeismoError, UsageError, did_you_mean
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from seismo.options import Setting
    from seismo.process.run_program import Program

    Given = dict[str, Any]

# Errors to report before the program begins. Later errors are the program's.
FORESEEN = (SeismoError, OSError, MemoryError)


def require_core() -> None:
    """Raise RecordingError where seismo has no native core, and cannot record."""
    from seismo._core import start  # noqa: F401


class Verb:
    """A verb that runs a program. `text` is the text of --help.

    `before` names a word that must precede the program, if any. `hint` is a suggestion for a script that cannot be
    opened.
    """

    def __init__(
        self, name: str, usage: str, text: str, options: tuple[Setting, ...], *, before: str = "", hint: str = ""
    ) -> None:
        self.name = name
        self.usage = usage
        self.text = text
        self.options = options
        self.before = before
        self.hint = hint

    def main(self, words: list[str], make: Callable[[Given, Program], Callable[[], int]]) -> int:
        """Call what make(given, program) returns, which runs the program. Report bad words and errors of make().

        Return only if there is no program to run; raise the program's exception, or SystemExit at its end.
        """
        try:
            given, program = self.read(words)
            if program is None:
                return self.help()
            require_core()
            run = make(given, program)
        except FORESEEN as error:
            return failed(error)
        return run()

    def read(self, words: list[str]) -> tuple[Given, Program | None]:
        """Return the options by key, "before" among them, and the program, or None for help. Raise UsageError."""
        given: Given = {}
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word in ("-h", "--help"):
                return given, None
            program = self._take(given, word, rest)
            if program is not None:
                if self.before and "before" not in given:
                    raise UsageError(f"{self.before} is missing: it must stand before the program", hint=self._usage)
                return given, program
        what = f"{self.before} and the program are" if self.before and "before" not in given else "the program is"
        if given.get("before", "").endswith(".py"):
            what = f"{self.before} is"
        raise UsageError(f"{what} missing", hint=self._usage)

    def _take(self, given: Given, word: str, rest: list[str]) -> Program | None:
        """Consume a word: an option, the word before the program, or the program with the rest. Return the program."""
        from seismo.process.run_program import Program

        if word[:2] in ("-m", "-c") and word[2:3] != "-":  # python accepts -mMODULE, too
            what = word[2:] or self._value(word, None, rest, empty=True)
            return Program("module" if word[1] == "m" else "code", what, rest)
        if word == "-" and (not self.before or "before" in given):
            return Program("stdin", word, rest)
        if word.startswith("-") and word not in ("-", "--"):
            self._option(given, word, rest)
            return None
        if self.before and "before" not in given and word and word != "--":
            given["before"] = word
            return None
        if word != "--":
            return Program("script", word, rest)
        return Program("script", rest.pop(0), rest) if rest else None

    @property
    def _usage(self) -> str:
        return f"usage: {self.usage}"

    def _option(self, given: Given, word: str, rest: list[str]) -> None:
        """Consume one option, with a value from the word or from the rest."""
        name, equals, text = word.partition("=")
        for option in self.options:
            if option.is_flag:
                if word in option.names:
                    given[option.name] = True
                    return
                continue
            short = option.names[0] if len(option.names[0]) == 2 else ""
            if name in option.names:
                value = self._value(name, text if equals else None, rest)
            elif short and word.startswith(short):
                name, value = short, word[2:]
            else:
                continue
            if option.choices:
                one_of(name, value, option.choices_of(self.name))
            read = READERS[option.read] if isinstance(option.read, str) else option.read
            if option.many:
                given.setdefault(option.name, []).append(read(name, value))
            else:
                given[option.name] = read(name, value)
            return
        known = [name for option in self.options for name in option.names]
        hint = f"options of the program must stand after the program; see: seismo {self.name} --help"
        hint = did_you_mean(name, [*known, "--help"]) + hint
        raise UsageError(f"seismo {self.name} has no option {name}", hint=hint)

    def _value(self, name: str, text: str | None, rest: list[str], empty: bool = False) -> str:
        if text is None:
            if not rest:
                raise UsageError(f"{name} needs a value", hint=self._usage)
            text = rest.pop(0)
        if not text and not empty:
            raise UsageError(f"the value of {name} is empty", hint=self._usage)
        return text

    def help(self) -> int:
        """Print the help."""
        from seismo.cli.parsing import print_help

        print_help(self)
        return 0

    def check(self, program: Program) -> None:
        """Read a program from stdin. Raise UsageError if it, or the script, cannot be read."""
        if program.kind == "stdin":
            from seismo.process import startup_guard

            startup_guard.allow_interrupts()  # the user may be typing the program, and may end it by Ctrl-C
            try:
                program.read_stdin()
            except OSError as error:
                raise UsageError(f"cannot read the program from standard input: {error.strerror or error}") from None
            startup_guard.defer_interrupts()
        if program.kind != "script" or program.importable or program.flows:
            return
        try:
            with open(program.what, "rb"):
                pass
        except OSError as error:
            hint = self.hint
            if not hint and all(part.isidentifier() for part in program.what.split(".")):
                hint = f"to run a module: seismo {self.name} -m {program.what}"
            reason = error.strerror or str(error)
            raise UsageError(f"cannot open the script: {reason[0].lower()}{reason[1:]}", program.what, hint) from None
