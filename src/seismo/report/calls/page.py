"""The page of calls: a flame graph, the functions, and details of the chosen function.

This module makes the page's data; web/src draws it. Every number is the one that the report shows: functions as in the
table, paths as in the call tree. Paths are stored by thread, and the page sums them if it shows all threads together,
as the report does.
"""

from __future__ import annotations

import functools
import html
from typing import TYPE_CHECKING

from seismo import progress
from seismo.model.recording import TIMES
from seismo.report import words
from seismo.report.calls.functions import page_columns
from seismo.report.calls.imports import NAME as IMPORT_SYSTEM
from seismo.report.calls.imports import ImportSystem, import_system
from seismo.report.calls.library_folding import Folds
from seismo.report.calls.options import check_page
from seismo.report.calls.page_selection import NOT_SHOWN, Chosen
from seismo.report.calls.paths import MOST, Paths
from seismo.report.calls.sources import sources
from seismo.report.calls.timeline import MOST_CALLS, page_trace, process_title
from seismo.report.facts import command_line, header
from seismo.report.function_names import IMPORT, imported_module, place
from seismo.report.libraries import INSTALLED, STANDARD, of_functions
from seismo.report.page.document import drawn
from seismo.report.page.payload import counts, doubles, shown, shown_facts
from seismo.report.shown_functions import chosen_modules
from seismo.report.waiting import ELAPSED, known_waits, reasons

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.page.payload import Columns

# Owners of functions, in the order of the legend.
OWN, INSTALLED_PACKAGE, STANDARD_LIBRARY, C_FUNCTION, OTHER = range(5)
SMALLER = "smaller paths, left out of this page"
IN_NOTEBOOK = 5_000  # most paths
STAGES = 4  # steps of making a page that are reported as progress
CALLS_IN_NOTEBOOK = 50_000  # most calls of a trace: some hundred kB
# A page in a frame takes the colour scheme of the element around it: that of JupyterLab's theme (and nbconvert's and
# Notebook's), or of VS Code's. Elsewhere the system's applies.
FOLLOWING = (
    '<style>[data-jp-theme-light="true"] iframe.seismo-page, .vscode-light iframe.seismo-page { color-scheme: light }\n'
    '[data-jp-theme-light="false"] iframe.seismo-page, .vscode-dark iframe.seismo-page { color-scheme: dark }</style>'
)
UNTRUSTED = "The picture is hidden until the notebook is trusted (File, Trust Notebook), or the cell is run again."
_LIBRARY = 1  # as in seismo.report.calls.library_folding
_IMPORT = 3  # the body of a module of a library
_WHOSE = {"": OWN, INSTALLED: INSTALLED_PACKAGE, STANDARD: STANDARD_LIBRARY}


def page(recording: Recording, options: Options) -> str:
    """Return the page as text, of the chosen functions and threads only. Raises UsageError as check_page and Chosen."""
    check_page(options)
    imports = options.imports or options.all
    chosen = Chosen(recording, options.time or ELAPSED, chosen_modules(options), options.thread, imports)
    return calls_page(recording, chosen)


def calls_frame(recording: Recording) -> str:
    """Return the page as an element for a notebook: isolated, and with fewer paths since the notebook stores it.

    An untrusted notebook drops the element and shows the text inside it.
    """
    if not len(recording.tree):
        return ""
    page = html.escape(calls_page(recording, None, IN_NOTEBOOK, CALLS_IN_NOTEBOOK), quote=True)
    return (
        f'{FOLLOWING}<iframe class="seismo-page" title="flame graph" sandbox="allow-scripts" srcdoc="{page}" '
        'style="width: 100%; height: 640px; border: 1px solid #8886; border-radius: 8px">'
        f"{UNTRUSTED}</iframe>"
    )


def calls_page(whole: Recording, chosen: Chosen | None = None, most: int = MOST, most_calls: int = MOST_CALLS) -> str:
    """Return the page as text. chosen: the part to show. most: paths. most_calls: of a timeline, or 0 for none."""
    chosen = chosen or Chosen(whole)
    recording, pick = chosen.recording, chosen.pick
    functions = recording.functions
    signs = words.Signs()
    known = known_waits(recording)
    progress.report("making the page: functions", 0, STAGES)
    columns = _function_columns(chosen)
    progress.report("making the page: paths", 1, STAGES)
    paths = Paths.of(recording, len(functions), most, chosen.left_out())
    columns |= paths.columns("t.")
    columns["t.thread"] = counts(paths.threads)
    numbers = chosen.numbers()
    columns["t.function"] = counts(numbers[function] for function in paths.functions)
    progress.report("making the page: sources", 2, STAGES)
    texts, lines = sources(recording, chosen)
    columns |= lines
    kinds, modules, names, files, rows = (
        pick(functions[name]) for name in ("kind", "module", "qualname", "file", "line")
    )
    whose, groups, folded = _whose(recording, chosen.system)
    imported = [imported_module(*row) for row in zip(kinds, modules, names, files, strict=True)]
    names = [IMPORT + module if module else name for module, name in zip(imported, names, strict=True)]
    # The import system, a row of the table, follows the functions; entries that are no rows come last.
    system = [IMPORT_SYSTEM] if chosen.system.functions else []
    others = [SMALLER, *([NOT_SHOWN] if chosen.hidden else [])]
    titles = [process_title(row) for row in recording.processes]
    head: dict[str, object] = {
        "kind": "calls",
        "times": chosen.times,
        "timeless": recording.timeless,
        "table": page_columns(),
        "divided": bool(known) or any(functions["wait_ns"]),
        "facts": shown_facts([*header(whole, signs), *chosen.facts]),
        "modules": _texts(modules),
        "names": [*_texts(names), *system, *others],
        "files": _texts(files),
        "places": [shown(place(*row)) for row in zip(kinds, modules, files, rows, strict=True)],
        "reasons": _reasons(chosen, known),
        "wholes": {times: sum(recording.timed(times).functions["own_ns"]) for times in TIMES},
        "folded": folded,
        "threads": _threads(recording),
        "processes": titles if len(titles) > 1 else [],
        "sources": texts,
        "paths": len(recording.tree),
        "leftOut": paths.left_out,
    }
    if whole.calls and most_calls:
        head["trace"], every = page_trace(whole, chosen, most_calls)
        columns |= every
    more = len(system) + len(others)
    columns["f.kind"] = counts([*kinds, *[words.SYNTHETIC] * more])
    columns["f.whose"] = counts([*pick(whose), *[STANDARD_LIBRARY] * len(system), *[OTHER] * len(others)])
    columns["f.group"] = counts([*pick(groups), *[2] * more])
    columns["f.line"] = counts([max(0, line) for line in rows])
    progress.report("making the page: packing", 3, STAGES)
    return drawn(command_line(whole) or "Calls", head, columns)


def _texts(texts: Iterable[str]) -> list[str]:
    return list(map(functools.cache(shown), texts))


def _function_columns(chosen: Chosen) -> Columns:
    sums = chosen.sums(TIMES[0])
    columns: Columns = {name: counts(sums(name)) for name in ("calls", "resumes", "exceptions", "awaits")}
    columns["bound"] = counts(sums("lower_bound"))
    columns["await"] = doubles(sums("await_ns"))
    for times in TIMES:
        sums = chosen.sums(times)
        for column in ("own_ns", "own_error_ns", "total_ns", "total_error_ns"):
            columns[f"{times}.{column.removesuffix('_ns')}"] = doubles(sums(column))
    return {f"f.{name}": column for name, column in columns.items()}


def _reasons(chosen: Chosen, known: set[str]) -> list[str]:
    sums = chosen.sums(TIMES[0])
    rows = zip(*(sums(name) for name in ("wait_ns", "ready_ns", "lock_ns")), strict=True)
    return [reasons(wait, ready, lock, known) for wait, ready, lock in rows]


def _whose(recording: Recording, system: ImportSystem) -> tuple[list[int], list[int], bool | None]:
    """Return each function's owner, its group for folding (library_folding.py), and whether the page starts folded.

    The body of a library's module starts its own fold. The last value is None if there is nothing to fold.
    """
    functions = recording.functions
    whose = [C_FUNCTION if kind == words.C else OTHER for kind in functions["kind"]]
    for row, library in of_functions(recording).items():
        whose[row] = _WHOSE[library]
    folds = Folds(recording, import_system(recording).functions)
    groups = [_IMPORT if row in system.bodies and one == _LIBRARY else one for row, one in enumerate(folds.whose)]
    return whose, groups, folds.any if folds.inside else None


def _threads(recording: Recording) -> list[dict[str, object]]:
    return [
        {"name": shown(str(row.name)) or f"thread {row.id}", "process": row.process, "folded": row.folded}
        for row in recording.threads
    ]
