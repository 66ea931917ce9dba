"""The call tree, cut to the relevant branches, with its hot path.

A recording may hold a million paths; a screen holds forty lines. Branches are chosen before anything is printed:

1. One pass over the tree's columns finds the first child and the next sibling of each node. No other object is made
   for a node that is not looked at.
2. A *branch* is one line: one or more nodes of one function. A function that calls itself is one branch however deep it
   goes: its callees at all depths become its children. A function that is filtered out is removed from the path: its
   callees become its caller's children, and its time stays in the caller's total.
3. A heap opens the branches with the largest total first, until the lines are used up or the rest is below the
   threshold. An unknown total is ranked by its lower bound, and left out only if its upper bound is small. A child is
   looked at only after its parent is open, so the open branches are always a connected top of the tree.
4. Branches of little interest are folded, and the heading mentions it. A long run of branches that merely call one
   child, which has nearly all of the total, is one line and does not count as more. Frameworks stack dozens of such
   frames. The import system is left out as if filtered, and the body of each imported module is a branch
   (seismo.report.calls.imports). Functions that call each other in a circle are followed twice around.
5. Adjacent frames of libraries are one branch, a *fold*. The program's own code that they call back is below it
   (seismo.report.calls.library_folding).

The hot path starts at the largest root and goes to the largest child as long as its total exceeds the branch's own
time.

No function here is recursive: a tree may be as deep as the recorded program's stack was.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.model.enums import BEFORE_START, LOWER_BOUND
from seismo.report import words as text
from seismo.report.calls.functions import FunctionCells, name_spans
from seismo.report.calls.imports import ImportSystem, import_system
from seismo.report.calls.library_folding import Folds
from seismo.report.facts import filter_words
from seismo.report.function_names import IMPORT
from seismo.report.paper import ROOMY, Paper, Span
from seismo.report.waiting import LEAST, NOTABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from seismo.model import Recording
    from seismo.model.idle_threads import Idle
    from seismo.report.options import Options
    from seismo.report.shown_functions import Modules

CALLS_ON = 0.98  # least share of a total that an only child has if its parent merely calls on
TWICE_AROUND = 2  # most occurrences of a function on its own path
LOOK_BACK = 100  # frames: a longer circle is not noticed
LONG_RUN = 3  # from this length, a run is one line
LONG_RUN_OF_OWN = 8  # the same if libraries are folded, so that all are the program's own
MOST_PACKAGES = 6  # most packages in the line of a fold
RUNNING = " (already running)"  # when the recording began
IMPORT_SHARE = 0.01  # share of all time; modules that took less to import have no row
OPENED_AT_MOST = 100_000  # most branches, since runs are free and --all has no limit of lines


@dataclass
class Limits:
    """The limits of the tree. `lines`: most lines. `depth`: levels, from 1. `share`: of all time, from 0 to 1."""

    lines: int | None
    depth: int | None
    share: float
    fold: bool  # leave out what is of little interest: see 4 above
    libraries: bool  # show the inside of libraries
    imports: bool  # show the functions of the import system

    @classmethod
    def of(cls, options: Options) -> Limits:
        """Return the limits that the options set."""
        share = 0.0 if options.all else 0.001 if options.tree else 0.01
        return cls(
            lines=None if options.all else options.limit or (200 if options.tree else 40),
            depth=options.depth,
            share=share if options.min is None else options.min / 100,
            fold=not options.all,
            libraries=options.libraries,
            imports=options.imports or options.all,
        )


@dataclass(eq=False, slots=True)
class Branch:
    """A line of the tree: nodes of one function reached in one way. `inside`: the nodes of a fold, else empty."""

    function: int
    depth: int
    nodes: list[int]
    total_ns: float
    parent: Branch | None = None
    levels: int = 1  # depth of its recursion
    total_error_ns: float = 0.0
    own_ns: float = 0.0
    own_error_ns: float = 0.0
    wait_ns: float = 0.0  # part of the total
    calls: int = 0
    lower_bound: bool = False
    running: bool = False
    opened: bool = False
    hot: bool = False
    children: list[Branch] = field(default_factory=list)
    inside: list[int] = field(default_factory=list)
    run: int = 0  # length of the run of branches that ends here

    @property
    def rank(self) -> float:
        """Return the time to rank by: the total, or its lower bound if it is unknown."""
        return text.rank(self.total_ns, self.total_error_ns)

    @property
    def most_ns(self) -> float:
        """Return the largest possible time: the total, or its upper bound if it is unknown."""
        return self.total_ns + (self.total_error_ns if text.is_unknown(self.total_ns, self.total_error_ns) else 0.0)

    def calls_on(self) -> bool:
        """Return True if the branch does nothing but call its only child."""
        return len(self.children) == 1 and self.children[0].total_ns >= CALLS_ON * self.total_ns > 0

    def goes_in_circles(self) -> bool:
        """Return True if the function is already on the path twice."""
        met = steps = 0
        above = self.parent
        while above is not None and met < TWICE_AROUND and steps < LOOK_BACK:
            met += above.function == self.function
            above = above.parent
            steps += 1
        return met >= TWICE_AROUND


class CallTree:
    """The branches of a recording's tree, made on demand. limits: how many to open and to show."""

    def __init__(self, recording: Recording, modules: Modules, limits: Limits) -> None:
        self.limits = limits
        tree = recording.tree
        self._parents: Sequence[int] = tree["parent"]
        self._functions: Sequence[int] = tree["function"]
        self._totals: Sequence[float] = tree["total_ns"]
        self._owns: Sequence[float] = tree["own_ns"]
        self._own_errors: Sequence[float] = tree["own_error_ns"]
        self._total_error = recording.total_error
        self._waits: Sequence[float] = tree["total_wait_ns"]
        self.times = recording.times
        self._table = recording.functions
        self.notable_ns = NOTABLE * (sum(self._table["own_ns"]) + (sum(self._table["wait_ns"])))
        self._calls: Sequence[int] = tree["calls"]
        self._flags: Sequence[int] = tree["flags"]
        self._hidden = modules.left_out(recording.functions)
        self._system = import_system(recording) if limits.fold and not limits.imports else ImportSystem()
        self._first, self._next, roots = _links(self._parents)
        self.whole_ns = sum(recording.functions["own_ns"])
        self.small = 0  # branches left out because they are below the least share
        # The result of a filter is not folded, whether it applies here or applied to the recording.
        fold_libraries = limits.fold and not (limits.libraries or self._hidden or modules or filter_words(recording))
        folds = Folds(recording, self._system.functions) if fold_libraries else None
        self.folds = folds if folds and folds.any else None
        self.opened: list[Branch] = []
        self.roots = self._branches(roots, None)
        if self._system.functions and not self.roots:  # the program did nothing else
            self._system = ImportSystem()
            self.roots = self._branches(roots, None)

    def open(self, branch: Branch) -> None:
        """Find the branch's children and add up its own numbers."""
        branch.opened = True
        self.opened.append(branch)
        if self.folds and self.folds.inside[branch.nodes[0]] and self._open_fold(branch, self.folds.inside):
            return
        below: list[int] = []
        level = branch.nodes
        inside: list[int] = []
        while level:
            inside += level
            deeper: list[int] = []
            for child in self._shown(self._children(level)):
                (deeper if self._functions[child] == branch.function else below).append(child)
            branch.levels += bool(deeper)
            level = deeper
        self._add_up(branch, inside, inside)
        branch.children = self._branches(below, branch)

    def _open_fold(self, branch: Branch, inside: bytearray) -> bool:
        """Open the branch as a fold, or return False if there are no library frames below it."""
        nodes: list[int] = []
        below: list[int] = []
        waiting = list(branch.nodes)
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            for child in self._children([node]):
                (waiting if inside[child] and not self.is_import(child) else below).append(child)
        if all(self._functions[node] == branch.function for node in nodes):
            return False
        branch.inside = nodes
        self._add_up(branch, nodes, branch.nodes)
        branch.children = self._branches(below, branch)
        return True

    def is_import(self, node: int) -> bool:
        """Return True for the body of an imported module, unless the import system is shown, too."""
        return self._functions[node] in self._system.bodies

    def modules(self, branches: Iterable[Branch]) -> list[str]:
        """Return the modules of the branches' functions, each once."""
        modules = self._table["module"]
        return list(dict.fromkeys(modules[branch.function] or "?" for branch in branches))

    def _add_up(self, branch: Branch, nodes: Sequence[int], called: Sequence[int]) -> None:
        """Sum own times and errors of the nodes, and calls of those by which the branch was entered.

        Errors add up within a function, and are independent between functions.
        """
        branch.own_ns = sum(self._owns[node] for node in nodes)
        errors: dict[int, float] = {}
        for node in nodes:
            errors[self._functions[node]] = errors.get(self._functions[node], 0.0) + self._own_errors[node]
        branch.own_error_ns = math.hypot(*errors.values())
        branch.calls = sum(self._calls[node] for node in called)
        branch.lower_bound = any(self._flags[node] & LOWER_BOUND for node in called)
        branch.running = any(self._flags[node] & BEFORE_START for node in called)

    def _branches(self, nodes: Iterable[int], parent: Branch | None) -> list[Branch]:
        """Return the nodes as branches, the largest total first."""
        depth = parent.depth + 1 if parent else 1
        groups: dict[int, list[int]] = {}
        for node in self._shown(nodes):
            groups.setdefault(self._functions[node], []).append(node)
        branches = []
        for function, group in groups.items():
            branch = Branch(function, depth, group, sum(self._totals[node] for node in group), parent)
            branch.wait_ns = sum(self._waits[node] for node in group)
            branch.total_error_ns = self._total_error(group)
            branches.append(branch)
        names = self._table["qualname"] if len(branches) > 1 else ()
        return sorted(
            branches,
            key=lambda branch: (
                -branch.rank,
                -sum(self._calls[node] for node in branch.nodes),
                names[branch.function] if names else "",
                branch.function,
            ),
        )

    def _shown(self, nodes: Iterable[int]) -> Iterable[int]:
        """Return the nodes, with hidden ones replaced by their callees."""
        if not (self._hidden or self._system.functions):
            return nodes
        shown: list[int] = []
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            function, parent = self._functions[node], self._parents[node]
            if function in self._hidden or self._system.has(function, self._functions[parent] if parent >= 0 else -1):
                waiting += self._children([node])
            else:
                shown.append(node)
        return shown

    def _children(self, nodes: Iterable[int]) -> list[int]:
        children: list[int] = []
        for node in nodes:
            child = self._first[node]
            while child >= 0:
                children.append(child)
                child = self._next[child]
        return children


def _links(parents: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return the first child and next sibling of every node (-1 for none), and the roots."""
    first = [-1] * len(parents)
    following = [-1] * len(parents)
    roots: list[int] = []
    for node, parent in enumerate(parents):
        if parent < 0:
            roots.append(node)
        else:
            following[node] = first[parent]
            first[parent] = node
    return first, following, roots


def open_tree(tree: CallTree) -> None:
    """Open the branches to show, the largest first, and mark the hot path."""
    limits = tree.limits
    heap: list[tuple[float, int, Branch]] = []
    order = count()  # ties go to the branch found first
    lines = 0
    long_run = LONG_RUN_OF_OWN if tree.folds else LONG_RUN

    def wait(branches: Iterable[Branch]) -> None:
        for branch in branches:
            share = max(limits.share, IMPORT_SHARE) if tree.is_import(branch.nodes[0]) else limits.share
            large = branch.most_ns >= share * tree.whole_ns
            if large and not _too_deep(branch, limits) and not (limits.fold and branch.goes_in_circles()):
                heapq.heappush(heap, (-branch.rank, next(order), branch))
            tree.small += not large

    wait(tree.roots)
    while heap and len(tree.opened) < OPENED_AT_MOST and (limits.lines is None or lines < limits.lines):
        branch = heapq.heappop(heap)[2]
        tree.open(branch)
        if branch.calls_on() and not branch.inside:
            branch.run = 1 + (branch.parent.run if branch.parent else 0)
        lines += not (limits.fold and branch.run > long_run)
        wait(branch.children)
    _mark_hot(tree.roots)


def _too_deep(branch: Branch, limits: Limits) -> bool:
    return limits.depth is not None and branch.depth > limits.depth


def _mark_hot(roots: list[Branch]) -> None:
    branches = roots
    own_ns = 0.0
    while branches and branches[0].opened and branches[0].total_ns > own_ns:
        branches[0].hot = True
        own_ns, branches = branches[0].own_ns, branches[0].children


@dataclass
class Line:
    """A line of an opened tree.

    what: "function"; "fold", of a library; "run", of branches that merely call on; or "rest", of unopened branches.
    frames: how many it stands for. packages: of a fold; of a run, its modules. words: about the rest.
    """

    what: str
    indent: int
    total_ns: float
    total_error_ns: float = 0.0
    hot: bool = False
    branch: Branch | None = None  # of a function or a fold
    frames: int = 0
    packages: Sequence[str] = ()
    words: str = ""


def shown_lines(tree: CallTree) -> Iterator[Line]:
    """Yield the lines of an opened tree, top down."""
    waiting = _level(tree, tree.roots, 0)  # a stack: the next one is last
    while waiting:
        item, indent = waiting.pop()
        if isinstance(item, Line):
            yield item
            continue
        total = item.total_ns, item.total_error_ns
        run = _run(item) if tree.limits.fold and item.depth > 1 else []
        if len(run) >= (LONG_RUN_OF_OWN if tree.folds else LONG_RUN):
            hot, modules = all(branch.hot for branch in run), tree.modules(run)
            yield Line("run", indent, *total, hot, frames=len(run), packages=modules)
            waiting.append((run[-1].children[0], indent + 1))
            continue
        frames = len(item.inside) or item.levels
        packages = tree.folds.libraries(item.inside) if tree.folds and item.inside else []
        yield Line("fold" if item.inside else "function", indent, *total, item.hot, item, frames, packages)
        waiting += _level(tree, item.children, indent + 1)


def _run(branch: Branch) -> list[Branch]:
    """Return the run of branches that merely call on from this one, as long as the next one is shown, too."""
    run: list[Branch] = []
    while branch.opened and branch.calls_on() and branch.children[0].opened and not branch.inside:
        run.append(branch)
        branch = branch.children[0]
    return run


def _level(tree: CallTree, branches: list[Branch], indent: int) -> list[tuple[Branch | Line, int]]:
    """Return the opened ones of these branches, the last first, behind a line for the rest."""
    limits = tree.limits
    found: list[tuple[Branch | Line, int]] = []
    rest = [branch for branch in branches if not branch.opened]
    rest_ns = sum(branch.total_ns for branch in rest)
    if rest and rest_ns >= (0.01 if limits.share else 0) * tree.whole_ns:
        why = ""
        if _too_deep(rest[0], limits):
            why = " (deeper: --depth)"
        elif limits.fold and rest[0].goes_in_circles():
            why = ": the recursion goes on"
        found.append((Line("rest", indent, rest_ns, words=f"{len(rest):,} more{why}"), indent))
    return found + [(branch, indent) for branch in reversed(branches) if branch.opened]


def tree_remarks(tree: CallTree, modules: Modules, all_threads: int) -> list[str]:
    """Return remarks on how the tree is shown."""
    what = "what others call" if tree.times == "calls" else "others' time"
    remarks = [f"{modules.words()}; {what} is in their callers' total"] if modules else []
    if all_threads > 1:
        remarks.append(f"{all_threads:,} threads together")
    if tree.folds:
        remarks.append("libraries folded, --libraries opens them")
    return remarks


def tree_title(tree: CallTree) -> str:
    """Return the title, which names the ranking."""
    return "Call tree by " + {"wait": "time waiting", "calls": "calls", "cpu": "running time"}.get(
        tree.times, "elapsed time"
    )


def write_tree(
    paper: Paper, recording: Recording, modules: Modules, limits: Limits, all_threads: int, idle: Idle
) -> None:
    """Write the call tree with its heading. all_threads: the number of threads that it combines."""
    tree = CallTree(recording, modules, limits)
    open_tree(tree)
    remarks = [f"{paper.signs.hot} hot path", *tree_remarks(tree, modules, all_threads)]
    by = tree_title(tree)
    lines = text.wrapped(f"{by} ({printable('; '.join(remarks))})", paper.width)
    for index, line in enumerate(lines):
        title = by if index == 0 else ""
        paper.line((title, "title"), (line[len(title) :], "quiet"))
    if not tree.roots:
        paper.line(("  none" if not modules else "  nothing in it matches the filter", "quiet"))
        return
    _TreeWriter(paper, FunctionCells(recording, paper.signs), tree).write()
    if tree.small:
        less = text.number_of(tree.small, "path") + f" below {100 * limits.share:g} %"
        paper.line((f"  {paper.signs.cut} {less} (--min PERCENT, --tree)", "quiet"))
    if idle.ns:
        threads = text.number_of(idle.threads, "thread") if idle.threads else "threads"
        paper.line((f"  idle: {threads} waited for work for {text.duration(idle.ns, paper.signs)}", "quiet"))


class _TreeWriter:
    """A writer of the opened branches, top down, without recursion."""

    def __init__(self, paper: Paper, cells: FunctionCells, tree: CallTree) -> None:
        self._paper, self._cells, self._tree = paper, cells, tree
        roomy = paper.width >= ROOMY
        self._indent = 2 if roomy else 1  # columns of a level
        opened = tree.opened
        self._own = roomy and tree.times != "calls"
        least = max(1.0, tree.notable_ns)
        self._waits = tree.times in ("cpu", "wall") and any(branch.wait_ns >= least for branch in opened)
        rows = [self._numbers(branch) for branch in opened]
        time = 2 + max([len("total"), *(text.cells(cell) for row in rows for cell in row[1 : 2 + self._own])])
        calls = 2 + max([len("calls"), *(text.cells(row[-1]) for row in rows)])
        self._widths = [7, time, *[time] * self._own, *[2 + len("waiting  ")] * self._waits, calls]
        # Names of deep branches keep half of the width, or that of the longest name if it is less.
        self._room = max(24, paper.width - 2 - sum(self._widths) - 2)
        longest = max((text.cells(cells.name(branch.function)) for branch in opened), default=0)
        self._deepest = max(4, (self._room - max(26, min(self._room // 2, longest))) // self._indent)

    def write(self) -> None:
        """Write the heading, the branches, and the rest of each."""
        heads = ["total %", "total  ", *["own  "] * self._own, *["waiting  "] * self._waits, "calls"]
        self._paper.line((f"  {''.join(self._padded(heads))}  function", "quiet"))
        for line in shown_lines(self._tree):
            self._write_line(line)

    def _numbers(self, branch: Branch) -> list[str]:
        """Return the cells of a branch: the total and its share, own time and waiting if they are shown, the calls."""
        own = [self._amount(branch.own_ns, branch.own_error_ns)] if self._own else []
        large = branch.wait_ns > LEAST * self._tree.notable_ns
        waiting = text.aligned(text.duration(branch.wait_ns, self._paper.signs)) if large else ""
        count = text.calls(branch.calls, branch.lower_bound, self._paper.signs) if branch.calls else ""
        return [*self._total(branch), *own, *[waiting] * self._waits, count]

    def _total(self, of: Branch | Line) -> list[str]:
        share = text.share(of.total_ns, of.total_error_ns, self._tree.whole_ns)
        return [share, self._amount(of.total_ns, of.total_error_ns)]

    def _amount(self, value: float, error: float) -> str:
        return text.aligned(text.amount(value, error, self._paper.signs, self._tree.times))

    def _padded(self, cells: list[str]) -> list[str]:
        """Return the cells in the widths of their columns; those that are missing are blank."""
        cells = cells + [""] * (len(self._widths) - len(cells))
        return list(map(text.right, cells, self._widths))

    def _write_line(self, line: Line) -> None:
        signs = self._paper.signs
        lead, room = self._indented(line.indent)
        style = "quiet"
        if line.branch:
            style = "strong" if line.hot else ""
            about = self._branch_spans(line, line.branch, room)
        elif line.what == "run":
            words = f"{signs.cut} {line.frames:,} nested calls of {printable(', '.join(line.packages))}"
            # Cutting keeps the end, where the modules are.
            about = [(text.shorten(words, max(8, room), signs), "quiet")]
        else:
            about = [(f"{signs.cut} {line.words}", "quiet")]
        share, total, *own, count = self._padded(self._numbers(line.branch) if line.branch else self._total(line))
        mark = (signs.hot + " ", "hot") if line.hot else ("  ", "")
        self._paper.line(mark, (share + total, style), ("".join(own), "time"), count, "  ", lead, *about)

    def _branch_spans(self, line: Line, branch: Branch, room: int) -> list[Span | str]:
        style = "hot" if line.hot else "name"
        extra = f" ({branch.levels:,} deep)" if branch.levels > 1 else ""
        if branch.inside:
            return [*self._fold_spans(line, branch, room - len(extra), style), (extra, "quiet")]
        if branch.running and text.cells(self._cells.name(branch.function) + RUNNING) <= room:
            extra += RUNNING
        return [*name_spans(self._cells, branch.function, max(8, room - len(extra)), style), (extra, "quiet")]

    def _fold_spans(self, line: Line, branch: Branch, room: int, style: str) -> list[Span | str]:
        """Return the function that leads into a library, the number of folded paths, and the libraries if they fit.

        At the bottom of a thread's stack, the function may be left out to make room for the libraries.
        """
        signs = self._paper.signs
        name = self._cells.name(branch.function)
        if name.startswith(IMPORT):
            return name_spans(self._cells, branch.function, room, style)
        paths = f"{signs.cut} {text.number_of(line.frames, 'path')}"
        packages = list(map(printable, line.packages))
        for before in (name,) if branch.parent else (name, ""):
            for shown in range(min(len(packages), MOST_PACKAGES), 0, -1):
                words = f"{paths} of {', '.join(packages[:shown])}"
                words += f" and {len(packages) - shown:,} more" if shown < len(packages) else ""
                if (text.cells(before) + 2 if before else 0) + text.cells(words) <= room:
                    return [(before, style), "  ", (words, "quiet")] if before else [(words, "quiet")]
        return [(text.shorten(name, max(8, room - 1 - len(paths)), signs), style), " ", (paths, "quiet")]

    def _indented(self, indent: int) -> tuple[str, int]:
        """Return the indentation of a name, or its level if that is too deep, and the width left after it."""
        lead = " " * (self._indent * indent)
        if indent > self._deepest:
            lead = " " * (self._indent * self._deepest - 2) + f"(level {indent + 1}) "
        return lead, self._room - len(lead)
