"""The `where` of a hook: the text of an expression, made a filter of the native core."""

from seismo import _core
from seismo.errors import UsageError

# What can be told of an event when it happens. A duration, an own time or a count of calls cannot: `seismo watch` knows
# those.
TERMS = frozenset({"name", "module", "function", "qualname", "file", "line", "exception"})
PROFILE_KINDS = frozenset({"call", "resume", "throw", "return", "yield", "unwind", "c_call", "c_return", "c_raise"})
TRACE_KINDS = frozenset(
    {"call", "resume", "throw", "return", "yield", "unwind", "line", "raise", "stop_iteration", "opcode"}
)


def compile_where(where: str, *, trace: bool) -> _core.Filter:
    """Return the filter of an expression about events of a profile or of a trace hook.

    UsageError with the column: no expression, or one that names what such a hook does not hear.
    """
    from seismo.expression import KINDS, parse

    kinds = TRACE_KINDS if trace else PROFILE_KINDS
    if not where.strip():
        raise UsageError("where is empty", where="where=''", hint="leave it out, to hear everything")
    why = (
        f"a {'trace' if trace else 'profile'} hook hears {', '.join(kind for kind in KINDS if kind in kinds)}, "
        f"and knows {', '.join(sorted(TERMS - {'name'}))} of it"
    )
    return _core.Filter(parse(where).only(TERMS, kinds, why).program)
