"""The summary at the end of a watch: counts, omissions, and likely reasons if nothing matched."""

from __future__ import annotations

import os

from seismo.escape import printable
from seismo.expression.glob import matches
from seismo.expression.terms import paths_of
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.watching import source_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.watching.actions import Row
    from seismo.watching.active_watch import ActiveWatch

_MOST_FILE = 4000  # the most lines of a file to compile in the search for the nearest line with code


def summary(watch: ActiveWatch) -> list[str]:
    """Return lines with the count, with limits, masked and lost values, and with a hint if nothing matched."""
    rows = watch.functions
    matched = [row for row in rows if row.matches]
    count = watch.count
    text = printable(str(watch.expression))
    if count:
        functions = f" in {len(matched):,} functions" if len(matched) > 1 else ""
        lines = [f"{count:,} {'match' if count == 1 else 'matches'}{functions}: {text}", *_library(watch, matched)]
    else:
        lines = [f"nothing matched: {text}", *_why_not(watch, rows)]
    if watch.selection.limit is not None and count >= watch.selection.limit:
        lines.append(f"stopped after {watch.selection.limit:,} (--limit): there may be more")
    if watch.masked:
        lines.append("values that look secret are shown as ***; to see them: --show-secrets")
    if watch.lost:
        lines.append(f"{watch.lost:,} matches were lost: out of memory or stack, or showing them failed")
    if watch.failed:
        lines.append(f"the watch ended early because its action failed: {watch.failed}")
    return lines


def _library(watch: ActiveWatch, matched: list[Row]) -> list[str]:
    """Return a hint to exclude the standard library if most matches are in it."""
    folder = os.__file__.rpartition("/")[0]
    modules: dict[str, int] = {}
    patterns: dict[str, None] = {}
    for row in matched:
        frozen = row.file.startswith("<frozen ")
        inside = row.file.startswith(folder + "/") and "-packages/" not in row.file
        if frozen or inside:
            top = row.module.partition(".")[0]
            modules[top] = modules.get(top, 0) + row.matches
            patterns["<frozen *>" if frozen else f"{folder}/*"] = None
    there, all_of_them = sum(modules.values()), sum(row.matches for row in matched)
    if 2 * there <= all_of_them or any(char in folder for char in '"\\*?['):
        return []
    if any(word in ("module", "file") for word, _ in watch.expression.patterns()):
        return []  # the user has limited the modules or files already
    names = sorted(modules, key=lambda name: (-modules[name], name))
    shown = ", ".join(map(printable, names[:3])) + (" and others" if len(names) > 3 else "")
    files = ", ".join(f'"{pattern}"' for pattern in patterns)
    here = f"{there:,} of {all_of_them:,} in the standard library ({shown})"
    before = "(...) " if " or " in watch.expression.text else ""
    return [f"{here}; to leave it out: {before}and not file({printable(files)})"]


def _why_not(watch: ActiveWatch, rows: list[Row]) -> list[str]:
    """Return at most two lines with likely reasons."""
    possible = [row for row in rows if row.possible and "<" not in row.qualname.rpartition(".")[2]]
    lines: list[str] = []
    for word, arguments in watch.expression.patterns():
        if word in ("line", "file") and arguments:
            lines += _about_file(arguments[0], arguments[1] if len(arguments) > 1 else "", rows, watch.selection.script)
        elif word in ("call", "return", "yield", "resume", "raise", "function", "qualname", "module") and arguments:
            lines += _about_name(word, arguments[0], rows)
        if lines:
            return lines[:2]
    if possible:
        names = ", ".join(printable(row.function) for row in possible[:3])
        more = f" and {len(possible) - 3:,} more" if len(possible) > 3 else ""
        return [f"the functions did run ({names}{more}), but the rest of the expression was never true for them"]
    return []


def _about_name(word: str, pattern: str, rows: list[Row]) -> list[str]:
    """Return a line if no function, or no module, of this name ran."""
    names: set[str] = set()
    for row in rows:
        if word == "module":
            names.add(row.module)
        else:
            names |= {row.function, row.qualname, row.qualname.rpartition(".")[2], f"{row.module}.{row.qualname}"}
    if any(matches(pattern, name) for name in names):
        return []
    what = "module" if word == "module" else "function"
    near = _near(pattern, names)
    hint = f"; did you mean {near}?" if near else ""
    return [f"no {what} that ran matches {word}({printable(repr(pattern))}){hint}"]


def _near(pattern: str, names: set[str]) -> str:
    shown = sorted(name for name in names if name and "<module>" not in name)[:20000]
    found = _close(pattern, shown, 3, 0.6)
    if not found:
        last = pattern.strip("*").rpartition(".")[2]
        found = _close(last, shown, 3, 0.7) if last else []
    return " or ".join(map(printable, found[:2]))


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]  # os.path looks up built-in names, which the program may have replaced


def _close(word: str, among: list[str], most: int, least: float) -> list[str]:
    """Return the words that are similar to this one, or none if the program has broken difflib."""
    try:
        from difflib import get_close_matches

        return get_close_matches(word, among, most, least)
    except Exception:  # noqa: BLE001  only a hint depends on it, and the program may have replaced built-in names
        return []


def _about_file(pattern: str, line: str, rows: list[Row], script: str) -> list[str]:
    """Return a line if nothing of the file ran, or if the line has no code or never ran."""
    files = {row.file for row in rows}
    paths = paths_of(pattern, script)
    mine = [file for file in files if any(matches(path, file) for path in paths)]
    if not mine:
        names = {_name_of(file): file for file in sorted(files) if not file.startswith("<")}
        near = _close(_name_of(pattern), list(names), 1, 0.6)
        hint = f"; did you mean {printable(names[near[0]])}?" if near and _name_of(pattern) not in names else ""
        return [f"nothing in {printable(pattern)} ever ran{hint}"]
    if not line.isdecimal():
        return []
    lines = _lines_with_code(mine[0])
    number = int(line)
    if not lines:
        return []
    if number in lines:
        return [f"line {number} of {printable(pattern)} has code, but it never ran while the watch was on"]
    before = max((one for one in lines if one < number), default=0)
    after = min((one for one in lines if one > number), default=0)
    nearest = " and ".join(str(one) for one in (before, after) if one)
    return [f"line {number} of {printable(pattern)} has no code; the nearest that has: {nearest}"]


def _lines_with_code(file: str) -> set[int]:
    text = "\n".join(source_lines.lines_of(file)[:_MOST_FILE])
    try:
        codes = [compile(text, file, "exec", 0, dont_inherit=True)] if text else []
    except (SyntaxError, ValueError):
        return set()
    lines: set[int] = set()
    while codes:
        code = codes.pop()
        lines |= {line for _, _, line in code.co_lines() if line}
        codes += [constant for constant in code.co_consts if type(constant) is type(code)]
    return lines
