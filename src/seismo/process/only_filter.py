"""The options `--only` and `only=`, which select functions by names and globs."""

from __future__ import annotations

from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.expression import Expression


def only_expression(only: Iterable[str], where: str | Expression | None = None) -> str | None:
    """Return the expression for the chosen functions, or None if all are. Raises UsageError.

    Each item of `only` is the name of a module, a function (with or without its module) or a file, or a glob. A name
    without *, ?, [ includes what is inside: a package's modules, a class's methods, a function's inner ones.
    """
    from seismo.expression.lexer import quoted

    terms = []
    for glob in only:
        if not glob:
            raise UsageError(f"only cannot be {glob!r}", hint="it is a glob or a name, such as 'app.core.*'")
        names = quoted(glob)
        if not any(sign in glob for sign in "*?["):
            names += ", " + quoted(glob + ".*")
        terms.append(f"module({names}) or call({names}) or file({quoted(glob)})")
    text = " or ".join(terms)
    if where is not None:
        also = str(engine.narrowed(where))
        text = f"({text}) and ({also})" if text else also
    return str(engine.narrowed(text)) if text else None
