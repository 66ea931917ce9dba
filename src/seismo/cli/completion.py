"""Prints a script that completes verbs, options, their values and files.

  bash, in ~/.bashrc:               source <(seismo completion bash)
  zsh, in ~/.zshrc after compinit:  eval "$(seismo completion zsh)"
  fish:  seismo completion fish > ~/.config/fish/completions/seismo.fish

The script is written by shtab: pip install 'seismo[completion]'
"""

from __future__ import annotations

import argparse
import re
import sys

from seismo import formats
from seismo.cli.main import VERBS, home
from seismo.cli.parsing import Parser, add_options
from seismo.cli.report import orders
from seismo.errors import UsageError, install_command
from seismo.report.kind import OF_PSTATS

SHELLS = ("bash", "zsh", "fish")
_FILES = re.compile("FILE|OUT|DIR|GLOB|OLD|NEW")  # metavars of arguments that are files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `seismo completion`."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="the shell: bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "the script is written by shtab, which is not installed", hint=install_command("completion")
        ) from None
    if args.shell not in shtab.SUPPORTED_SHELLS:
        hint = f"install a newer one: {install_command('completion')}"
        raise UsageError(f"shtab {shtab.__version__} does not support {args.shell}", hint=hint)
    sys.stdout.write(shtab.complete(every_verb(), args.shell))
    return 0


def every_verb() -> argparse.ArgumentParser:
    """Return a parser with a subparser for each verb. Arguments that are files have shtab's attribute `complete`."""
    from shtab import FILE

    values = {"report --sort": [*orders(), *OF_PSTATS], "export --format": formats.names()}
    parser = argparse.ArgumentParser(prog="seismo")
    verbs = parser.add_subparsers(parser_class=Parser)
    for verb, summary in VERBS.items():
        module = home(verb)
        made = verbs.add_parser(verb, help=summary)
        if hasattr(module, "VERB"):
            made.add_argument("-m", metavar="MODULE", help="run a module")
            made.add_argument("-c", metavar="CODE", help="run code")
            add_options(made, module.VERB)
            if module.VERB.before:
                made.add_argument("before", metavar=module.VERB.before)
            made.add_argument("program", metavar="FILE", nargs="+")
        else:
            module.add_arguments(made)
        for action in made._actions:
            option = action.option_strings[-1] if action.option_strings else ""
            action.choices = values.get(f"{verb} {option}", action.choices)
            if not action.choices and _FILES.search(str(action.metavar)):
                action.complete = FILE  # type: ignore[attr-defined]
    return parser
