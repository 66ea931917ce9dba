"""Write docs/cli.md from the help of every command.

With --check, write nothing and return status 1 if the page is out of date. Versions of argparse break lines in
different places and name an option's value once or twice. So the page is written by the oldest supported Python, and
--check compares words.

Options and paragraphs that several commands share are printed at the first of them; the others list the options' names.
"""

import contextlib
import io
import os
import re
import sys
import textwrap
from pathlib import Path

from seismo.cli import main as command

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cli.md"
HEAD = """# Commands

`seismo --help` and `seismo COMMAND --help` print these texts; `python -m seismo` is the same as `seismo`. Options and
paragraphs that several commands share are explained at the first of them. `make docs` writes this page.
"""
# An option or argument of a help text, with the indented lines of its explanation.
OPTION = re.compile(r"^  (?:-|[A-Z]{2}).*\n(?:    +.*\n)*", re.MULTILINE)
NAME = re.compile(r"(?:^  |, )(--?[a-z][\w-]*|[A-Z]+)")


def help_of(*words: str) -> str:
    """Return what `seismo WORDS --help` prints on a terminal of 80 columns."""
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        command.main([*words, "--help"])
    return out.getvalue()


def page() -> str:
    """Return the page as it should be."""
    parts = [HEAD, f"## seismo\n\n```text\n{help_of().rstrip()}\n```\n"]
    first: dict[str, str] = {}
    parts += [
        f"## seismo {verb}\n\n```text\n{without_repeats(help_of(verb), verb, first)}\n```\n" for verb in command.VERBS
    ]
    return "\n".join(parts)


def without_repeats(text: str, verb: str, first: dict[str, str]) -> str:
    """Return a help text without what an earlier verb explains. first: paragraphs and options, each with its verb."""
    shared: dict[str, list[str]] = {}

    def keep(option: re.Match[str]) -> str:
        of = first.setdefault(" ".join(option[0].split()), verb)
        if of == verb:
            return option[0]
        shared.setdefault(of, []).extend(NAME.findall(re.split(r"(?<=\S)  +", option[0].split("\n")[0])[0]))
        return ""

    parts: dict[str, str] = {}
    for part in text.rstrip().split("\n\n"):
        head, _, body = part.partition("\n")
        if head.endswith(":") and OPTION.match(f"{body}\n"):
            parts[head] = OPTION.sub(keep, f"{body}\n")
        elif first.setdefault(" ".join(part.split()), verb) == verb:
            parts[part] = "\n"
    parts["options:"] += "".join(listed(of, names) for of, names in shared.items())
    return "\n\n".join(f"{head}\n{body}".rstrip() for head, body in parts.items() if body)


def listed(verb: str, names: list[str]) -> str:
    """Return the lines that name the options which an earlier verb explains."""
    head = f"  as in seismo {verb}:  "
    lines = textwrap.wrap(", ".join(names), 78, initial_indent=head, subsequent_indent="    ", break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def words(text: str) -> list[str]:
    """Return the words, however argparse sets them: `-o FILE, --output FILE` is `-o, --output FILE` from 3.13 on."""
    return re.sub(r"(-\w) (\S+), (--[\w-]+) \2", r"\1, \3 \2", text).split()


def main() -> None:
    """Write the page, or with --check end with status 1 if it is out of date."""
    text = page()
    if "--check" in sys.argv[1:]:
        sys.exit(words(PAGE.read_text(encoding="utf-8")) != words(text))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
