"""Uses of the standard library that make many calls of all kinds, the same ones each time but the first."""

from __future__ import annotations

import json
import re
import textwrap


def parse_things() -> None:
    import ast
    import configparser
    import html.parser

    ast.unparse(ast.parse(textwrap.dedent("def f(a, b=1):\n    return [a for a in b if a]\n")))
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nb = 1\nc = %(b)s2\n")
    html.parser.HTMLParser().feed("<a href='b'>c</a><d/>")


def json_things() -> None:
    data = {"a": [1, 2.5, None, {"b": "c" * 20}] * 20}
    assert json.loads(json.dumps(data, indent=1, sort_keys=True)) == data


def class_things() -> None:
    import dataclasses
    import enum

    cls = dataclasses.make_dataclass("Thing", [("a", int), ("b", str)], order=True, frozen=True)
    sorted([cls(3, "a"), cls(1, "b"), cls(2, "c")])
    list(enum.Enum("Colour", "red green blue"))


def regex_things() -> None:
    re.purge()
    for pattern in (r"\w+", r"(?P<a>[aeiou])(?=r)", r"q.*?k"):
        re.findall(pattern, "the quick brown fox " * 5)
