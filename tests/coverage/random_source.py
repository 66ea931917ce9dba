"""Random Python source: definitions of the standard library, in layouts that make lines hard to tell."""

import ast
import functools
import io
import itertools
import sysconfig
import textwrap
import tokenize
from pathlib import Path

LIBRARY = Path(sysconfig.get_path("stdlib"))
# Every statement that there is, and much on one line. Where the library comes without its tests, the others are left.
FILES = [
    "test/test_grammar", "test/test_patma", "test/test_except_star", "test/test_decorators", "test/test_with",
    "asyncio/locks", "configparser", "contextlib", "dataclasses", "typing",
]  # fmt: skip
# What it has hardly any of: conditions that are constants, brackets around decorators, `else` on the line of its suite.
RARE = """
def constants(a):
    if 0: return 1
    elif 1 and 2: a = 1
    else: a = 2
    if TYPE_CHECKING: import b
    while 0 or not 1: a = 3
    else: a = 4
    while True: a = 5; break
    if a: pass
    elif False: pass
    else: return a; a = 6
@(f(a)(1, 2))
@(a)
class A(B, metaclass=M): "doc"; x = 1
"""
COMMENTS = ["  # pragma: no cover", "  # pragma: no branch", "  # else: x", "  # it's"]
AT_END = [*COMMENTS, "; a = 1", ";", " \\\n", "; \\\n"]
BETWEEN = ["\n", "   \n", "# comment\n", "# pragma: no cover\n", "# x = 1 \\\n"]
INSIDE = ["\n", "\n\n", "\n  ", "  # comment\n", "  # pragma: no cover\n"]
LINE_ENDS = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT)


@functools.cache
def definitions():
    """Return the source of each function and class of less than 60 lines."""
    found = []
    paths = filter(Path.exists, (LIBRARY / f"{name}.py" for name in FILES))
    for text in (*[RARE] * 9, *(path.read_text("utf-8") for path in paths)):
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if node.end_lineno - first < 60:
                    found.append(textwrap.dedent("".join(lines[first - 1 : node.end_lineno])))
    return found


def places(text):
    """Yield the offsets where a text has room for more, each with what may stand there.

    A `;` stays on its line: where it stands alone, coverage.py does not take its line for a part of the function.
    """
    begins = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
    depth, last = 0, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        at = begins[token.start[0] - 1] + token.start[1]
        if token.type == tokenize.NEWLINE:
            if not last.startswith("#"):
                yield at, COMMENTS if last == ":" else AT_END
            yield at + len(token.string), BETWEEN
        elif token.type not in LINE_ENDS and token.start[1] > 0 and token.string != ";":
            yield at, INSIDE if depth else [" \\\n"]
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        last = token.string


def laid_out(text, random):
    """Return a definition with more between its tokens, or nothing if that is no Python."""
    try:
        found = list(places(text))
        for at, choices in sorted(random.sample(found, min(random.randint(0, 9), len(found))), reverse=True):
            more = random.choice(choices)
            text = f"{text[:at]}{more}{text[at:]}"
        compile(text, "app.py", "exec", dont_inherit=True)
    except (tokenize.TokenError, SyntaxError):
        return ""
    return text


def program(random):
    """Return the text of a module."""
    chosen = random.choices(definitions(), k=random.randint(1, 12))
    return "\n".join(laid_out(text, random) for text in chosen) + random.choice(["\n", "\n\n", "\n# end"])
