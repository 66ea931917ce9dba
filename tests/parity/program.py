"""Programs with the call tree that they must leave, whatever source records them.

The programs are in programs/*.txt:

    === name of the program
    Python source that defines main()
    --- condition
    the expected tree

A tree has one line a path, indented below its caller: the qualified name ([in brackets] for a C function), the number
of calls when it is not 1, rN for N resumes, xN for N exceptions that left. A condition, after `---` or after `?` in a
line of a tree, is a Python expression over `v` (the version, (3, 12)), `full` (with the patch level), `source`, and
`closes`: whether closing a generator that waits outside try is reported (gh-140373). The first tree whose condition
holds counts. A line whose condition does not hold is not there: its children belong to its caller. `#` starts a
remark, where the reason of a difference stands. Siblings of one name are put together before the comparison.

Options after the name, separated by `;`: `raises NAME` (main ends with that exception), `repairs` with a condition (the
path needs repair there, by the nature of what happens).
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import SOURCES, WITH_C
from recorded import LOWER_BOUND, Image, Node, image, merged, without

from seismo import _core

MODES = ["none", "all", "auto"]
WAYS = [(source, mode) for mode in MODES for source in (SOURCES if mode == "none" else WITH_C)]


@dataclass
class Program:
    name: str
    path: Path
    line: int
    text: str
    options: dict[str, str]
    trees: list[tuple[str, str]]

    def facts(self, source: str) -> dict[str, Any]:
        """What conditions are about."""
        full = sys.version_info[:3]
        closes = not ((3, 13) <= full < (3, 13, 12) or full == (3, 14, 0))
        of = "monitoring" if source == "starts" else source  # its path and counts are those with every end
        return {"v": full[:2], "full": full, "source": of, "closes": closes}

    def may_repair(self, source: str) -> bool:
        return "repairs" in self.options and bool(eval(self.options["repairs"] or "True", self.facts(source)))

    def expected(self, source: str) -> list[Node]:
        names = self.facts(source)
        for condition, text in self.trees:
            if eval(condition or "True", names):
                nodes = parse(text, names)
                if source == "profilefunc" and names["v"] == (3, 12):
                    without_exceptions(nodes)
                return nodes
        raise AssertionError(f"no tree for {names}")


def parse(text: str, names: dict[str, Any]) -> list[Node]:
    roots: list[Node] = []
    stack: list[tuple[int, Node]] = []
    absent = set()
    for line in text.splitlines():
        line, _, _reason = line.partition("  #")
        line, _, condition = line.partition(" ? ")
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        first, *words = line.split()
        node = Node(first.strip("[]"), c=first[0] == "[")
        for word in words:
            if word[0] == "r":
                node.resumes = int(word[1:])
            elif word[0] == "x":
                node.exceptions = int(word[1:])
            else:
                node.calls = int(word)
        if condition and not eval(condition, names):
            absent.add(id(node))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        (stack[-1][1].children if stack else roots).append(node)
        stack.append((indent, node))
    return without(roots, lambda node: id(node) in absent)


def load() -> list[Program]:
    programs = []
    for path in sorted((Path(__file__).parent / "programs").glob("*.txt")):
        lines = path.read_text().splitlines()
        part: list[str] = []
        for number, line in enumerate(lines, 1):
            if line.startswith("=== "):
                name, *words = [word.strip() for word in line[4:].split(";")]
                options = {word.split()[0]: " ".join(word.split()[1:]) for word in words}
                part = []
                programs.append(Program(name, path, number, "", options, []))
                text = part
            elif line.startswith("---"):
                programs[-1].text = programs[-1].text or "\n".join(text)
                part = []
                programs[-1].trees.append((line[3:].partition("  #")[0].strip(), ""))
                tree = part
            else:
                part.append(line)
                if programs and programs[-1].trees:
                    programs[-1].trees[-1] = (programs[-1].trees[-1][0], "\n".join(tree))
    return programs


def record(program: Program, source: str, c_functions: str, path: Path | None = None, **options: Any) -> Image:
    """Runs main() and records it, without the frames that lead to it. path: into that file, and what that says."""
    namespace: dict[str, Any] = {"__name__": "program"}
    code = "\n" * program.line + program.text  # so that its lines are those of the file
    exec(compile(code, str(program.path), "exec"), namespace)
    main = namespace["main"]
    ended = None
    file = None if path is None else path.open("wb+")
    fd = -1 if file is None else file.fileno()
    gc.collect()
    gc.freeze()  # or the next collection would be a long one
    gc.disable()
    callbacks, gc.callbacks[:] = gc.callbacks[:], []  # of other tools in this process, hypothesis for one
    try:
        _core.start(source=source, c_functions=c_functions, running=False, calibrate=False, fd=fd, **options)
        try:
            main()
        except BaseException as error:
            ended = type(error).__name__
        finally:
            _core.stop()
    finally:
        gc.callbacks[:] = callbacks
        gc.enable()
    assert ended == program.options.get("raises")
    if path is None or file is None:
        return image()
    file.close()
    return Image(path.read_bytes())


def compared(nodes: list[Node], c_functions: str) -> list[Node]:
    """The form in which trees of one kind of recording are equal."""
    return merged(without(nodes, lambda node: node.c and c_functions == "none"))


def without_exceptions(nodes: list[Node]) -> None:
    """3.12's profile function gets None, not NULL, for a frame left by an exception (gh-110892): nobody can tell."""
    for node in nodes:
        node.exceptions = node.exceptions if node.c else 0
        without_exceptions(node.children)


def accept_lower_bounds(expected: list[Node], recorded: list[Node]) -> None:
    """C functions whose calls are lower bounds may have fewer: such a number is set to the expected one."""
    found = {(node.c, node.name): node for node in recorded}
    for node in expected:
        other = found.get((node.c, node.name))
        if other is None:
            continue
        if other.c and other.flags & LOWER_BOUND and 0 < other.calls <= node.calls:
            other.calls = node.calls
        accept_lower_bounds(node.children, other.children)
