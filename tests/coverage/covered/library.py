"""Uses modules of the standard library that are imported anew: for the comparison with coverage.py."""

import importlib
import sys

NAMES = (
    "argparse ast calendar configparser contextlib dataclasses difflib fractions graphlib json json.decoder "
    "json.encoder json.scanner queue shlex statistics string textwrap tomllib tomllib._parser"
).split()


def new(name):
    return importlib.import_module(name)


def main():
    for name in NAMES:
        sys.modules.pop(name, None)
    json = new("json")
    json.dumps({"a": [1, 2.5, None, True, {"b": "\u20ac"}], 3: ()}, indent=2, sort_keys=False)
    json.loads('{"a": [1, 2.5e3, {"b": null}], "c": "\\u20ac\\n", "d": -0}')
    json.decoder.scanner.py_make_scanner(json.JSONDecoder())('{"a": [true, 1.5], "b": {}}', 0)
    list(
        json.encoder._make_iterencode({}, str, str, " ", str, ":", ",", True, False, False)(
            {"b": [1, None], "a": {}}, 0
        )
    )
    try:
        json.loads("[1,")
    except ValueError:
        pass
    parser = new("argparse").ArgumentParser(prog="a", description="b " * 40)
    parser.add_argument("-x", "--ex", type=int, default=1, help="the x")
    parser.add_argument("files", nargs="*")
    commands = parser.add_subparsers(dest="command") if False else None
    parser.parse_args(["-x", "3", "a", "b"], commands)
    parser.format_help()
    textwrap = new("textwrap")
    textwrap.wrap("a bcd-efg " * 30, 20, initial_indent="* ", max_lines=4)
    textwrap.dedent("  a\n\n   b\n")
    difflib = new("difflib")
    list(difflib.unified_diff("a\nb\nc\n".splitlines(True), "a\nx\nc\nd\n".splitlines(True)))
    list(difflib.ndiff(["one\n", "two\n"], ["ore\n", "tree\n"]))
    difflib.get_close_matches("appel", ["ape", "apple", "peach"])
    dataclass = new("dataclasses").dataclass

    @dataclass(order=True, frozen=True)
    class Point:
        x: int = 1
        y: int = 2

    assert Point(1) < Point(3) and Point() != 3 and hash(Point()) and repr(Point())
    config = new("configparser").ConfigParser()
    config.read_string("[DEFAULT]\na=1\n[b]\nc=%(a)s\n  more\n; comment\n")
    config["b"]["c"]
    new("shlex").split('a \'b c\' "d\\"e" # f', comments=True)
    fraction = new("fractions").Fraction
    fraction("3/4") + fraction(1.5) * 2 > 1
    ast = new("ast")
    text = "def f(x, *y, z=1) -> int:\n  with a as b: return [c for c in d if e]\n  match x:\n    case [1, *_]: pass\n"
    ast.unparse(ast.parse(text + "async def g():\n  async for i in x: await i\n  f'{a!r:>{b}}'\n  lambda: (yield)\n"))
    ast.literal_eval("{1: [2, -3], 'a': (None, True)}")
    new("statistics").median([3, 1, 2])
    new("statistics").quantiles([1, 2, 3, 4, 5])
    new("calendar").TextCalendar().formatyear(2024)
    sorter = new("graphlib").TopologicalSorter({"a": {"b"}, "b": {"c"}})
    list(sorter.static_order())
    new("tomllib").loads('a = 1\nb = [1.5, "x", 2020-01-01]\n[c.d]\ne = """\nf"""\n[[g]]\nh = {i = true}\n')
    new("string").Template("$a ${b} $$").safe_substitute(a=1)
    queue = new("queue").PriorityQueue(2)
    queue.put(1)
    queue.get(timeout=1)
    with new("contextlib").ExitStack() as stack:
        stack.callback(len, "")
        stack.enter_context(new("contextlib").suppress(KeyError))
        raise KeyError


if __name__ == "__main__":
    main()
