"""Checks of the options of `seismo report` for objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.options import Options


TABLES = ("type", "line", "path", "all")  # the values of --by


def check_page(options: Options) -> None:
    """Raise UsageError for options of tables: the page has tables that can be sorted and filtered."""
    given = next((name for name in ("by", "type", "sort") if getattr(options, name)), "")
    if given:
        raise UsageError(f"--{given} does not apply to the HTML page", hint="sort and filter its tables in the page")


def check_data(options: Options, recording: Recording) -> None:
    """Raise UsageError if the options ask for data that the recording lacks."""
    if options.by in ("line", "path") and not len(recording.objects):
        hint = "to get the lines, record again without --types"
        raise UsageError("the recording has births and deaths by type only", f"--by {options.by}", hint)
    if options.by == "path" and not any(node >= 0 for node in recording.objects["node"]):
        hint = "to get them, record with seismo objects --paths"
        raise UsageError("the recording has no call paths", "--by path", hint)
    if not options.type:
        return
    from seismo.model.objects.groups import by_type
    from seismo.report.objects.story import chosen

    groups = by_type(recording)
    for glob in options.type:
        if not chosen(groups, (glob,)):
            names = [group.type for group in groups[:6]]
            hint = f"the types with most objects are {', '.join(names)}"
            raise UsageError(f"no type matches {glob!a}", "--type", hint)
