"""Parsing with argparse, for verbs whose start-up time does not matter, and the help of all verbs."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from seismo.cli.options import COLOR_HELP, READERS, help_of, one_of
from seismo.errors import UsageError, did_you_mean
from seismo.escape import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.cli.verb import Verb

WIDEST = 100  # the most characters of a line of help text
ONE_LINE = 150  # a longer usage is not shown with an error, because it would bury the error


class Help(argparse.RawDescriptionHelpFormatter):
    """A formatter that wraps help texts to the width of the terminal; indented parts stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = textwrap.TextWrapper(min(width, WIDEST), break_long_words=False, break_on_hyphens=False).fill
        parts = (part if "\n " in f"\n{part}" else fill(" ".join(part.split())) for part in text.split("\n\n"))
        return super()._fill_text("\n\n".join(parts), width, indent)


def print_help(verb: Verb) -> None:
    """Print the help of a verb that runs a program and reads its own words."""
    parser = argparse.ArgumentParser(
        prog=f"seismo {verb.name}", usage=verb.usage, description=verb.text.strip(), formatter_class=Help
    )
    add_options(parser, verb)
    parser.print_help()
    sys.stdout.flush()


def add_options(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Declare the options of a verb that runs a program."""
    for option in verb.options:
        if option.is_flag:
            parser.add_argument(*option.names, action="store_true", help=help_of(option))
        else:
            choices = list(option.choices_of(verb.name)) or None
            parser.add_argument(*option.names, metavar=option.metavar or None, choices=choices, help=help_of(option))


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError for bad arguments. `type` of an argument may be a name of READERS."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in READERS:
            self.register("type", name, str)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the arguments. Raise UsageError for invalid ones, and SystemExit after --help."""
        for word in words:
            if word == "--":
                break
            if word.startswith("--"):  # check now: a missing argument would hide the mistake
                self._check_option(word.partition("=")[0])
        # Files may be on both sides of an option. After --, intermixed parsing would treat files as options.
        read = self.parse_known_args if "--" in words else self.parse_known_intermixed_args
        args, rest = read(words)
        for word in rest:
            if word.startswith("-") and word != "-":
                self._check_option(word)
        if rest:
            taken = getattr(args, "file", None)
            several = f"one file is enough: it has {taken}; seismo merge combines several, seismo diff compares two"
            raise UsageError(f"unexpected argument {rest[0]!a}", hint=several if taken else self._usage)
        return args

    def _check_option(self, name: str) -> None:
        """Raise UsageError unless there is an option with that name or first letter."""
        known = self._option_string_actions
        if name in known or (not name.startswith("--") and name[:2] in known):
            return
        value = name.removeprefix("--")
        of = next((option for option, action in known.items() if value in (action.choices or ())), "")
        hint = f"did you mean {of} {value}? " if of else did_you_mean(name, known)
        raise UsageError(f"{self.prog} has no option {name}", hint=hint + f"see: {self.prog} --help")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if isinstance(action.type, str):
            return READERS[action.type](_name(action), arg_string)
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None:
            option = f"--{value}"
            one_of(
                _name(action), value, map(str, action.choices), option if option in self._option_string_actions else ""
            )

    def error(self, message: str) -> NoReturn:
        """Raise UsageError for an error that argparse found."""
        raise UsageError(message.removeprefix("argument "), hint=self._usage)

    @property
    def _usage(self) -> str:
        usage = " ".join(self.format_usage().split())
        return usage if len(usage) <= ONE_LINE else f"see: {self.prog} --help"


def _name(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)


def add_time(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
    what: str = "show",
    calls: bool = False,
    default: str = "wall",
) -> None:
    """Declare --time: args.time is one of seismo.model.recording.TIMES, with `calls` also "calls", or None."""
    text = f"{what} elapsed time, running and waiting (wall), running time (cpu), or waiting time (wait); default: "
    text += f"{default}{'; or of calls their number (calls)' * calls}"
    choices = ("cpu", "wall", "wait", *(["calls"] * calls))
    parser.add_argument("--time", choices=choices, metavar="WHICH", help=text)


def add_color(parser: argparse.ArgumentParser) -> None:
    """Declare the options about colours: args.color is one of COLOURS."""
    parser.add_argument("--color", choices=COLOURS, default="auto", metavar="WHEN", help=COLOR_HELP)
    parser.add_argument(
        "--no-color", dest="color", action="store_const", const="never", help="the same as --color never"
    )
