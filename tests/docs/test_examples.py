"""Every example of README.md and docs/ runs, and prints what the page says it prints.

A page is one story: its examples run one after the other in one empty folder. Fenced blocks take part by language:

    console           what follows "$ " is a command ("> " goes on), the rest its output; "..." stands for anything
    python            a program of its own
    python file=NAME  is written to NAME, for the examples that follow
    output            what the python block before it prints
    WHAT needs=NAME   only where the module NAME can be imported (NAME,NAME: all of them)
    WHAT since=3.13.3 only on this Python and later ones
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from children import READING, reading
from paths import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
# Languages that are shown, never run. What a reader would type belongs into a console block.
SHOWN = {"", "text", "c", "json", "toml", "diff", "yaml", "sql"}
# Commands of the repository itself: .ci/run runs them (test_make_targets_exist looks that they are there).
RUN_ELSEWHERE = re.compile(r"git clone |cd seismo$|make\b|pip install |python3 -m venv |\.ci/run")
# What only a shell reads, outside of quotes.
QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
SHELL = re.compile(r"[|&;<>$`*?\n]")
LOOP = re.compile(r"for (\w+) in ([\w ]+); do (.*); done")
OTHERWISE = re.compile(r' \|\| (?:true|echo "(?P<said>[^"]*)")$')
SHOWN_AS = {"COLUMNS": "80", "NO_COLOR": "1"}
# A program that reads recordings, and neither records nor imports what the page has written.
READS = re.compile(r"seismo\.open\(|^from seismo\.dataset", re.MULTILINE)
RECORDS = re.compile(r"seismo\.(?:profile|trace|lines|cover|objects|watch)\b")
# Other plugins are no part of any page, and pytest loads them each time.
PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "seismo.plugins.pytest_plugin"}
FIXED = {"PYTHONHASHSEED": "0"}  # or a check of tests starts one more pytest, to fix them

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    line: int
    language: str
    options: dict[str, str]
    body: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found = []
    for fence in FENCE.finditer(text):
        language, *words = fence["info"].split() or [""]
        body = re.sub(f"^{fence['indent']}", "", fence["body"], flags=re.MULTILINE)
        options = dict(word.partition("=")[::2] for word in words)
        found.append(Block(text.count("\n", 0, fence.start()) + 1, language, options, body))
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether the text is as expected, where "..." stands for anything and blanks at line ends do not count.

    A line that has nothing else stands for any number of lines, also none.
    """

    def tidy(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())

    lines = [
        r"(?:.*?\n)??" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in tidy(expected).split("\n")
    ]
    return re.fullmatch("".join(lines), tidy(printed) + "\n", re.DOTALL) is not None


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that the page shows."""
    found: list[tuple[str, str]] = []
    for line in body.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (found[-1][0] + line[2:], "")
        else:
            assert found, "a console block starts with a command"
            found[-1] = (found[-1][0], found[-1][1] + line)
    return [(command.strip(), output) for command, output in found]


class Story:
    """Runs the blocks of one page in one folder."""

    def __init__(self, page: Path, folder: Path):
        self.page = page
        self.folder = folder
        self.printed = ""
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **SHOWN_AS,
            **PLUGINS,
            **FIXED,
        }

    def run(self, command: list[str], where: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        printed = done.stdout.decode(errors="replace")
        assert done.returncode == 0, f"{where} ended with {done.returncode} and printed:\n{printed}"
        return printed

    def command(self, command: str, where: str) -> str:
        """Run a line of the shell; in this process, what only reads and needs little of a shell."""
        if loop := LOOP.fullmatch(command):
            name, words, body = loop.groups()
            return "".join(self.command(body.replace(f"${name}", word), where) for word in words.split())
        command = command.replace("$PWD", str(self.folder))
        otherwise = OTHERWISE.search(command)
        plain = command[: otherwise.start() if otherwise else None].removesuffix(" 2>&1")
        name, verb, *words = [*shlex.split(plain), ""]
        if name != "seismo" or verb not in READING or SHELL.search(QUOTED.sub("", plain)):
            return self.run(["sh", "-c", command], where)
        done = reading(verb, *words[:-1], status=None, cwd=self.folder, merged=True, **SHOWN_AS, **FIXED)
        assert otherwise or done.returncode == 0, f"{where} ended with {done.returncode} and printed:\n{done.stdout}"
        said = otherwise["said"].replace("$?", str(done.returncode)) if done.returncode and otherwise["said"] else ""
        return f"{done.stdout}{said}"

    def program(self, text: str, where: str) -> str:
        """Run a program; in this process, what only reads: the libraries that take tables are slow to import."""
        if RECORDS.search(text) or not READS.search(text):
            return self.run([sys.executable, "-c", text], where)
        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), patch.dict(os.environ, SHOWN_AS):
            exec(compile(text, where, "exec"), {"__name__": "__main__"})
        return out.getvalue()

    def tell(self, block: Block) -> None:
        where = f"{self.page.relative_to(ROOT)}:{block.line}"
        if block.language == "console":
            for command, expected in commands(block.body):
                if RUN_ELSEWHERE.match(command):
                    continue
                printed = self.command(command, f"{where} $ {command}")
                assert not expected or matches(expected, printed), f"{where} $ {command} printed:\n{printed}"
        elif block.language == "python" and "file" in block.options:
            path = self.folder / block.options["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body)
        elif block.language == "python":
            self.printed = self.program(block.body, where)
        elif block.language == "output":
            assert matches(block.body, self.printed), f"{where}: the program before printed:\n{self.printed}"
        else:
            assert block.language in SHOWN, f"{where}: a {block.language} block is not run; use console or python"


def missing(block: Block) -> list[str]:
    names = [name for name in block.options.get("needs", "").split(",") if name]
    return [name for name in names if importlib.util.find_spec(name) is None]


def too_new(block: Block) -> bool:
    since = block.options.get("since", "0")
    return sys.version_info < tuple(map(int, since.split(".")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples(page, tmp_path):
    story = Story(page, tmp_path)
    for block in blocks(page):
        if not missing(block) and not too_new(block):
            story.tell(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text())
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    for target in {"".join(pair) for pair in targets}:
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), f"{target} is not there"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in anchors, f"{target}: no such heading"


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"^(?:\$ |    )make ([a-z]+)|`make ([a-z]+)`", page.read_text(), re.MULTILINE)
        assert {"".join(pair) for pair in named} <= targets, page


def test_the_runner_would_notice():
    """A page that says something else than what is printed does not pass."""
    assert matches("a...b\n", "a1\n2b  \n")
    assert not matches("a...b\n", "a1\n2c\n")
    assert too_new(Block(1, "python", {"since": "99.1"}, ""))
    assert not too_new(Block(1, "python", {"since": "3.11"}, ""))
    assert commands("$ one \\\n> two\nout\n$ three\n") == [("one \\\ntwo", "out\n"), ("three", "")]
