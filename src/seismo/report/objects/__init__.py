"""Reports of recordings of births and deaths of objects."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.report.kind import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.options import Options


class Objects(Kind):
    """Recordings of births and deaths of objects."""

    name = recording_kinds.OBJECTS
    sorted_by = "columns:ORDERS"
    rows = "objects"
    rest = "the rest; --html OUT.html draws it"
    others_are_in = "their callers' own time"
    unseen = "objects that are never freed (small ints, short strings) or are reused in place (the tuples of zip)"
    notes = "facts:notes"
    also = ("limit", "libraries")
    tables = (
        ("types", ("type",)),
        ("objects", ("creating line of a type", "creating lines of types")),
        ("object_spans", ("span",)),
        ("holders", ("holder of survivors", "holders of survivors")),
        ("marks", ("mark",)),
    )

    def instead(self, options: Options, recording: Recording) -> Kind:
        """Return the kind of calls if the options are about calls and the call tree was recorded as well."""
        if len(recording.tree) and (options.tree or options.callers or options.callees):
            from seismo.report.kind import named

            return named(recording_kinds.CALLS)
        return self


KIND = Objects()
