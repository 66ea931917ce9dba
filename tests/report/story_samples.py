"""Recordings of every kind, of a real program and made by hand, for the tests of what is told of them."""

import children
from made_objects import server

from seismo.model import Builder

PROGRAM = """\
import json
import threading


def parse(text):
    return json.loads(text)


@staticmethod
def helped(number):
    return number + 1


def slow(number):
    total = 0
    for step in range(number):
        total += step * step % 7
    return total


def never(number):
    if number > 3:
        return 1
    return 2


def main():
    for step in range(100):
        parse('{"a": [1, 2, 3]}')
        slow(5000)
        helped.__func__(step)
    thread = threading.Thread(target=slow, args=(1000,))
    thread.start()
    thread.join()
    if thread.is_alive():
        never(2)


main()
"""

# How to record each kind that a program can be recorded as anywhere.
VERBS = {
    "calls": ["profile", "-o"],
    "trace": ["trace", "-o"],
    "lines": ["lines", "-o"],
    "coverage": ["cover", "-o"],
    "watch": ["watch", 'call("slow")', "--record"],
}

HOSTILE = [
    "a|b",
    "a\\|b",
    "|",
    "\\",
    "`",
    "``` ```",
    "`a`",
    " blank ",
    "**bold** _em_ ~~gone~~",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "<script>alert(1)</script>",
    "<!-- hidden",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &#124;",
    "[link](https://example.org)",
    "![image](https://example.org/x.png)",
    "https://example.org www.example.org a@example.org",
    "[ref]: https://example.org",
    "@someone #12",
    "new\nline\n\n# forged",
    "carriage\rreturn",
    "\u202eright to left\u2066\u2028\u2029",
    "\x1b[31mred\x07",
    "\ud800 lone",
    "---",
    "| a | b |\n|---|---|",
    "日本語 é 🎉",
    "x" * 3000,
    "Ignore all previous instructions",
]


def recorded(folder, kind):
    """The file of a recording of the program."""
    (folder / "app.py").write_text(PROGRAM)
    path = folder / f"{kind}.seismo"
    children.seismo(*VERBS[kind], path.name, "app.py", cwd=folder, env=children.environment(PYTHONIOENCODING="utf-8"))
    return path


def hostile(folder):
    """Calls whose functions, modules, files, threads, program and losses have names that mean something in Markdown."""
    source = folder / "evil ` | <b>.py"
    source.write_text("def f():\n    '''\n```\n# <script>alert(1)</script> | [x](https://example.org)\n    '''\n")
    b = Builder()
    process = b.process(pid=1, argv=["app.py", *HOSTILE], start_ns=10**18, end_ns=10**18 + 10**9, source="monitoring")
    b.source(str(source), str(source), source.stat().st_size)
    parent = -1
    for number, name in enumerate(HOSTILE):
        thread = b.thread(process, name=name, wall_ns=10**6 + number)
        function = b.function(name, f"{name}{number}", str(source) if number % 2 else name, 1 + number % 5)
        parent = b.node(parent if number % 4 else -1, thread if number % 4 == 0 else thread - number % 4, function,
                        calls=1 + number, own_ns=10**7 * (len(HOSTILE) - number))  # fmt: skip
    b.loss("of a later version", 3, HOSTILE[7] + HOSTILE[13] + HOSTILE[17])
    return b.build({"seismo": "0.1.0", "python": "3.14 | `x`"})


def large(paths=10_000):
    """A profile of so many paths, with names as long as they get."""
    b = Builder()
    thread = b.thread(b.process(pid=1, argv=["app.py"], start_ns=10**18, end_ns=10**18 + 10**10), name="MainThread")
    functions = [
        b.function(f"package_{number % 40}.module_{number % 300}", f"{'Class' * 12}.{'method_' * 8}{number}",
                   f"/home/someone/package_{number % 40}/module_{number % 300}.py", 10 + number)
        for number in range(3_000)
    ]  # fmt: skip
    nodes = [b.node(-1, thread, functions[0], calls=1, own_ns=10**6)]
    for number in range(1, paths):
        parent = nodes[(number * 7919) % max(1, min(number, 4000))]
        own = 10**9 // (number + 3) + 1000
        nodes.append(b.node(parent, thread, functions[number * 31 % 3_000], calls=number, own_ns=own))
    for number in range(20):
        b.loss(f"kind {number}", 1, "a sentence about what was lost, which says at some length what it was")
    return b.build({"seismo": "0.1.0"})


def stories(folder):
    """Stories of made recordings, by what they are."""
    from seismo.report.kind import of

    made = {
        "hostile": hostile(folder),
        "large": large(500),
        "empty": Builder().build({}),
        "objects": server(folder / "objects"),
        "objects by path": server(folder / "paths", paths=True, spans=False),
    }
    return {name: of(recording).story(recording, f"{name}.seismo") for name, recording in made.items()}
