"""An editor's notes for a recording of calls: at the first line of each function, its calls and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.model.recording import BY_CALLS
from seismo.report import words as text
from seismo.report.calls.functions import FunctionCells, order_words, selected_rows, whole_words
from seismo.report.calls.options import usual_times
from seismo.report.facts import is_watch
from seismo.report.gutter import as_story, joined, note, noted
from seismo.report.shown_functions import chosen_modules
from seismo.report.story import Story, share

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.gutter import Note
    from seismo.report.options import Options

_SIGNS = text.Signs()


def gutter(recording: Recording, file: str, options: Options) -> Story:
    """Return a note for each function. file: the path of the recording."""
    by = options.time or usual_times(recording)
    shown = recording.timed(by)
    cells = FunctionCells(shown, _SIGNS)
    cells.roomy = True
    modules = chosen_modules(options)
    rows = selected_rows(shown.functions, "own", modules)
    own, files = cells.columns["own_ns"], cells.columns["file"]
    hottest = max((text.rank(own[row], cells.columns["own_error_ns"][row]) for row in rows), default=0.0)
    python = [row for row in rows if cells.columns["kind"][row] == text.PYTHON]
    notes = [(files[row], _note(cells, row, hottest)) for row in python]
    kind = "watch" if is_watch(recording) else "trace" if recording.calls else "calls"
    words = f"functions by {order_words('own', by)}; {whole_words(cells)}"
    return as_story(recording, file, kind, words, noted(notes, cells.sources))


def _note(cells: FunctionCells, row: int, hottest: float) -> Note:
    columns, by = cells.columns, cells.times
    own, error = columns["own_ns"][row], columns["own_error_ns"][row]
    data = {
        "function": cells.called(row),
        "calls": columns["calls"][row],
        "calls_at_least": bool(columns["lower_bound"][row]),
        **{name: columns[name][row] for name in ("resumes", "exceptions")},
        **cells.all_times(row),
        "share": share(own, cells.whole_ns),
    }
    calls = f"{cells.calls(row)} {'call' if columns['calls'][row] == 1 else 'calls'}"
    of_whole, total = cells.share("own_ns", row), cells.time("total_ns", row).strip()
    called = cells.name(row)
    if by == BY_CALLS:
        details = [("function", called), ("calls", f"{cells.calls(row)}, {of_whole} of all"), ("calls in all", total)]
        words = joined(calls, of_whole)
    else:
        name = "waiting" if by == "wait" else "own"
        took = joined(cells.time("own_ns", row).strip(), cells.error(row))
        details = [("function", called), (name, f"{took}, {of_whole}"), ("total", total), ("calls", cells.calls(row))]
        details += [("own a call", cells.each(row).strip())]
        if by in ("cpu", "wall"):
            details.append(("waiting", joined(cells.waiting(row).strip(), cells.reasons(row))))
        words = joined(took, of_whole, calls)
    counts = [("resumes", "resumes"), ("exceptions", "raised")]
    details += [(label, text.count(columns[name][row])) for name, label in counts if columns[name][row]]
    heat = text.rank(own, error) / hottest if hottest > 0 else 0.0
    return note(columns["line"][row], data, words, details, heat)
