"""Parsed Python source for coverage: statements, exclusions, and the steps from line to line.

**Statements** are the lines of instructions, mapped to the first line of their logical line, without docstrings and
excluded lines. So a line counts only if an interpreter could report it. Code that the compiler drops (`if 0:`,
`global`, code after a constant) is no statement, without any special rule.

**Exclusions** are matches of the project's regular expressions:

- a match excludes the logical lines that it touches;
- in the head of a clause, up to its colon, it excludes the whole suite (`else:` begins another suite);
- in a decorator or the head of a function or class it excludes the whole definition;
- a `case` that always matches is excluded with its body, like an `else`.

**Arcs** are the steps from line to line that the code allows (arcs.py). A line with several is a branch.

One parse serves all three. The tree is walked once for the layout (logical_lines.py) and compiled for the line tables.
If branches are needed, it is walked once more for the arcs.
"""

from __future__ import annotations

import ast
import dis
import functools
import re
import types
import warnings
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from seismo.coverage import read_source as text
from seismo.coverage.arcs import Steps
from seismo.coverage.coverage_report import Arc, Region
from seismo.coverage.logical_lines import Case, Layout
from seismo.coverage.read_source import SourceError
from seismo.coverage.settings import EXCLUDE, PARTIAL, PARTIAL_ALWAYS
from seismo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def parse(
    source: str | bytes,
    path: str,
    exclude: Sequence[str] = EXCLUDE,
    exclude_partial: Sequence[str] = (*PARTIAL, *PARTIAL_ALWAYS),
) -> ParsedSource:
    """Parse source code. path: for errors; exclude, exclude_partial: regular expressions (re.MULTILINE).

    Raise SourceError if it cannot be decoded or is not valid for this interpreter, and UsageError for a bad regular
    expression.
    """
    decoded = text.decode(source, path) if isinstance(source, bytes) else source
    if decoded and not decoded.endswith("\n"):
        decoded += "\n"
    return ParsedSource(decoded, path, tuple(exclude), tuple(exclude_partial))


class ParsedSource:
    """The coverage-related structure of a source file. Lines are numbered from 1."""

    def __init__(self, source: str, path: str, exclude: tuple[str, ...], exclude_partial: tuple[str, ...]) -> None:
        self.text = source
        self.path = path
        self._exclude_partial = exclude_partial
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program got these warnings when it ran
            try:
                self._tree: ast.Module | None = ast.parse(source)
                # An empty module has an instruction in its first line, but nothing to execute.
                code = compile(source, path, "exec", dont_inherit=True) if self._tree.body else None
            except SyntaxError as error:
                at = f"{path}, line {error.lineno}" if error.lineno else path
                raise SourceError(f"the source cannot be parsed: {error.msg}", at) from None
            except (ValueError, RecursionError, MemoryError, OverflowError) as error:
                raise SourceError(f"the source cannot be parsed: {str(error) or type(error).__name__}", path) from None
        self._layout = Layout(self._tree, source)
        # Maps each line of a longer logical line to its first line, which stands for it in all sets of lines.
        self.first_lines = self._layout.first
        self._codes = [] if code is None else _codes_in(code)
        # The lines that have instructions. Deferred annotations rarely run.
        codes = (one for one in self._codes if one.co_name != "__annotate__")
        self._lines = frozenset(line for one in codes for _, _, line in one.co_lines() if line)
        excluded = self._excluded(exclude)
        ignored = excluded | self._layout.docstrings
        first = self.first_lines
        self.excluded: frozenset[int] = frozenset(excluded)
        self.statements: frozenset[int] = frozenset({first.get(line, line) for line in self._lines - ignored} - ignored)

    def first_line(self, line: int) -> int:
        """Return the first line of the logical line of `line`, or, for -N, the negative of N's."""
        return self.first_lines.get(line, line) if line >= 0 else -self.first_lines.get(-line, -line)

    @functools.cached_property
    def source_lines(self) -> list[str]:
        """Return the text's lines without line ends."""
        lines = self.text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    # ---- exclusion ----

    def _excluded(self, patterns: tuple[str, ...]) -> set[int]:
        matched = self._matching(patterns)
        if not matched:
            return set()
        first, layout = self.first_lines, self._layout
        excluded = {first.get(line, line) for line in matched}
        order = sorted(matched)
        for clause in layout.clauses:
            if bisect_left(order, clause.first) < bisect_right(order, clause.colon):
                starts = layout.starts
                excluded.update(starts[bisect_right(starts, clause.colon) : bisect_right(starts, clause.last)])
        for carrier in layout.carriers:
            if isinstance(carrier, Case):
                body = self._lines.intersection(range(carrier.body, carrier.last + 1))
                if body and body <= excluded:
                    excluded.update(range(carrier.pattern, carrier.pattern_end + 1))
            elif not excluded.isdisjoint(range(carrier.decorated, carrier.line + 1)):
                excluded.update(range(carrier.decorated, carrier.last + 1))
        return excluded

    def _matching(self, patterns: tuple[str, ...]) -> set[int]:
        """Return the lines that matches of a regular expression touch."""
        found: set[int] = set()
        if patterns:
            starts = self._line_starts
            for match in _compiled(patterns).finditer(self.text):
                found.update(range(bisect_right(starts, match.start()), bisect_right(starts, match.end()) + 1))
        return found

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    # ---- branches ----

    @functools.cached_property
    def steps(self) -> Steps:
        """Return the steps from line to line that the code allows, with words for them."""
        assert self._tree is not None
        found = Steps(self._tree, self._lines, self.first_lines)
        self._tree = None  # it is large, and not used again
        return found

    @property
    def arcs(self) -> frozenset[Arc]:
        """Return the steps that the code allows, as (from, to) of first lines; -N is out of the code at line N."""
        return self.steps.arcs

    @functools.cached_property
    def exit_counts(self) -> Mapping[int, int]:
        """Return the number of steps from each line, without excluded ones."""
        return Counter(start for start, end in self.arcs if self.excluded.isdisjoint((start, end)))

    @functools.cached_property
    def no_branch(self) -> frozenset[int]:
        """Return the lines whose missing branches are excused."""
        first = self.first_lines
        return frozenset(first.get(line, line) for line in self._matching(self._exclude_partial))

    def is_decided(self, line: int) -> bool:
        """Return True if no instruction of a logical line is a conditional jump: the compiler has decided it."""
        for code in self._codes:
            if not any(self.first_line(at or 0) == line for _, _, at in code.co_lines()):
                continue
            for instruction in dis.get_instructions(code):
                at = instruction.positions.lineno if instruction.positions else None
                if instruction.opcode in _CHOICES and self.first_line(at or 0) == line:
                    return False
        return True

    # ---- regions ----

    @functools.cached_property
    def regions(self) -> list[Region]:
        """Return the functions and classes with their own lines.

        A function has the lines of its body without nested functions. A class has the lines of its methods.
        """
        definitions = self._layout.definitions
        names: list[str] = []
        inner: dict[str, dict[int, int]] = {"function": {}, "class": {}}  # the innermost definition of each line
        for index, (kind, name, parent, _, _, body, last) in enumerate(definitions):  # outer ones come first
            names.append(f"{names[parent]}.{name}" if parent >= 0 else name)
            if kind == "function":
                inner["function"].update(dict.fromkeys(range(body, last + 1), index))
                if parent >= 0 and definitions[parent].kind == "class":
                    inner["class"].update(dict.fromkeys(range(body, last + 1), parent))
        lines: list[set[int]] = [set() for _ in definitions]
        for line, index in (*inner["function"].items(), *inner["class"].items()):
            lines[index].add(line)
        return [
            Region(definition.kind, name, definition.line, frozenset(own))
            for definition, name, own in zip(definitions, names, lines, strict=True)
        ]


# Conditional jumps.
_CHOICES = frozenset(
    number
    for number in {*dis.hasjrel, *dis.hasjabs}
    if not dis.opname[number].startswith("JUMP_") or dis.opname[number].startswith("JUMP_IF")
)


@functools.lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one regular expression for several. Raise UsageError with the first invalid one."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"a pattern is not a regular expression: {error}", pattern) from None
    joined = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined, re.MULTILINE)


def _codes_in(code: types.CodeType) -> list[types.CodeType]:
    codes = [code]
    for one in codes:  # which grows meanwhile
        codes += [constant for constant in one.co_consts if isinstance(constant, types.CodeType)]
    return codes
