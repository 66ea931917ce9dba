"""Libraries in the call tree: what one line stands for, that its figures are exact, and where nothing is folded."""

import re

import pytest

from seismo.model import Builder
from seismo.report.calls.tree import CallTree, Limits
from seismo.report.options import Options
from seismo.report.shown_functions import Modules

STANDARD = "/usr/lib/python3.12"
INSTALLED = f"{STANDARD}/site-packages"
FILES = {
    "app": "/home/me/app.py",
    "__main__": "/home/me/main.py",
    "tool.__main__": f"{INSTALLED}/tool/__main__.py",
    "threading": f"{STANDARD}/threading.py",
    "json.encoder": f"{STANDARD}/json/encoder.py",
    "importlib._bootstrap": "<frozen importlib._bootstrap>",
    "flask.app": f"{INSTALLED}/flask/app.py",
    "flask.views": f"{INSTALLED}/flask/views.py",
    "jinja2.environment": f"{INSTALLED}/jinja2/environment.py",
}
MS = 10**6


def tree(text, meta=None):
    """A recording from its tree as text: a line a node, indented: `module:name own_ms [calls]`, (C) before C ones."""
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    path = []
    for line in text.strip("\n").splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name, own, *calls = line.replace("(C) ", "").split()
        module, qualname = name.split(":")
        c = "(C)" in line
        shown = "__main__" if module == "tool.__main__" else module
        function = b.function(shown, qualname, "" if c else FILES[module], 0 if c else 1, kind=1 if c else 0)
        parent = path[depth - 1] if depth else -1
        node = b.node(parent, thread, function, calls=int(*calls or [1]), own_ns=float(own) * MS)
        path[depth:] = [node]
    return b.build(meta or {})


REQUEST = """
threading:Thread._bootstrap 1
  threading:Thread.run 1
    flask.app:Flask.__call__ 2 10
      flask.views:dispatch 2 10
        app:page 30 10
          (C) builtins:sorted 7 10
          app:price 3 90
          jinja2.environment:Template.render 20 10
            jinja2.environment:Template.root 10 10
              (C) builtins:sorted 4 20
              json.encoder:encode 6 10
              app:as_text 5 40
      (C) builtins:sorted 3 10
"""


def rows(lines):
    """Return the names in the tree's rows."""
    at = next(number for number, line in enumerate(lines) if "total %" in line)
    return [
        re.sub(r"^(▸| )( +(<1|[0-9.]+) %)( +[0-9.]+ [nµm]?s)( +(0|[0-9.]+ [nµm]?s))?( +[0-9,]+)? +", "", line)
        for line in lines[at + 1 : lines.index("", at)]
        if " below " not in line
    ]


@pytest.mark.parametrize("width", [120, 200])
def test_a_request_is_as_long_as_the_programs_own_code(report, width):
    lines = report(tree(REQUEST), width, tree=True, min=1)
    assert rows(lines) == [
        "threading:Thread._bootstrap  … 5 paths of threading, flask",
        "app:page  app.py:1",
        "jinja2.environment:Template.render  … 4 paths of jinja2, json",
        "app:as_text  app.py:1",
        "builtins:sorted  (C)",
        "app:price  app.py:1",
    ]
    assert "libraries folded, --libraries opens them" in " ".join(lines)


def test_in_little_room_a_fold_still_says_how_many_paths(report):
    shown = rows(report(tree(REQUEST), 72, tree=True, min=1))
    assert shown[0] == "… 5 paths of threading, flask"
    assert shown[2] == "…environment:Template.render … 4 paths"


def test_the_figures_of_a_fold_are_exact(report):
    folded = CallTree(tree(REQUEST), Modules(), Limits.of(Options()))
    (root,) = folded.roots
    folded.open(root)
    assert (root.total_ns, root.own_ns, root.calls) == (94 * MS, 9 * MS, 1)
    (page,) = root.children
    folded.open(page)
    assert (page.total_ns, page.own_ns, page.calls) == (85 * MS, 30 * MS, 10)
    template = page.children[0]
    folded.open(template)
    assert (template.total_ns, template.own_ns, template.calls) == (45 * MS, 40 * MS, 10)
    for branch in (root, page, template):
        assert branch.own_ns + sum(child.total_ns for child in branch.children) == branch.total_ns


def test_only_the_tree_folds(report):
    folded, opened = (report(tree(REQUEST), 200, libraries=libraries) for libraries in (False, True))
    table = folded[folded.index("", 2) :]
    assert table == opened[opened.index("", 2) :]
    assert any("json.encoder:encode" in line for line in table)


@pytest.mark.parametrize(
    "options", [{"libraries": True}, {"all": True}, {"module": ["*"]}], ids=lambda one: next(iter(one))
)
def test_what_was_asked_for_is_open(report, options):
    lines = report(tree(REQUEST), 200, **{"tree": True, "min": 1, **options})
    assert "folded" not in " ".join(lines)
    assert any("flask.views:dispatch" in line for line in lines)


def test_a_recording_of_chosen_functions_is_open(report):
    recording = tree(REQUEST, {"settings": {"where": 'module("flask.*") or module("app")'}})
    assert any("flask.views:dispatch" in line for line in report(recording, 200, tree=True, min=1))


# Trees of calls, each with the rows that are shown of it.
OWN_CODE = {
    "nothing is folded in a program of libraries alone": """
tool.__main__:<module> 1
  flask.app:main 50
    jinja2.environment:Template.render 49

__main__:<module>  tool/__main__.py:1
flask.app:main  app.py:1
jinja2.environment:Template.render  environment.py:1
""",
    "an installed program is own code": """
tool.__main__:<module> 20
  flask.app:main 30
    jinja2.environment:Template.render 20
      app:page 30

__main__:<module>  tool/__main__.py:1
flask.app:main  … 2 paths of flask, jinja2
app:page  app.py:1
""",
    # Of black, mypyc has compiled nearly all: what click calls back is black's.
    "so are its compiled modules": """
tool.__main__:<module> 20
  flask.app:main 10
    jinja2.environment:Template.render 10
      (C) tool.core:run 50
        (C) other.core:help 5

__main__:<module>  tool/__main__.py:1
flask.app:main  … 2 paths of flask, jinja2
tool.core:run  (compiled, its inside is not recorded)
other.core:help  (compiled, its inside is not recorded)
""",
    # A server that waited nearly all of the time still shows its requests.
    "waiting counts for nothing": """
threading:Thread._bootstrap 1
  threading:Thread.run 1
    (C) select:epoll.poll 1000
    flask.app:Flask.__call__ 20
      app:page 30
        app:price 20

threading:Thread._bootstrap  … 4 paths of threading, flask
app:page  app.py:1
app:price  app.py:1
""",
    "an imported module is as if own code had called it": """
__main__:<module> 30
  (C) builtins:__import__ 1
    importlib._bootstrap:_find_and_load 1
      (C) builtins:exec 1
        flask.app:<module> 20
          (C) builtins:__import__ 1
            importlib._bootstrap:_find_and_load 1
              jinja2.environment:<module> 10
      (C) marshal:loads 15

__main__:<module>  main.py:1
import flask.app  app.py:1
import jinja2.environment  environment.py:1
""",
}


@pytest.mark.parametrize("name", OWN_CODE)
def test_what_is_own_code(report, name):
    text, shown = OWN_CODE[name].split("\n\n")
    assert rows(report(tree(text), 120, tree=True, min=1)) == shown.splitlines()


@pytest.mark.parametrize(("own", "folded"), [(9, False), (11, True)])
def test_nothing_is_folded_where_own_code_has_under_a_tenth_of_the_time(report, own, folded):
    called_back = tree(f"""
flask.app:main {100 - own}
  json.encoder:encode 0
    app:page {own}
""")
    calls = tree(f"""
__main__:<module> {own}
  flask.app:main {50 - own}
    json.encoder:encode 50
""")
    for recording in (called_back, calls):
        lines = report(recording, 120, tree=True, min=1)
        assert any("json.encoder:encode" in line for line in lines) != folded
        assert ("libraries folded" in " ".join(lines)) == folded


def test_recursion_through_a_library_ends(report):
    recording = tree("\n".join("  " * depth + ("app:f 2", "flask.app:g 1")[depth % 2] for depth in range(2000)))
    shown = rows(report(recording, 120, tree=True, min=1))
    assert shown[:2] == ["app:f  app.py:1", "flask.app:g  app.py:1"], "a frame alone is no fold"
    assert len(shown) <= 45


def test_a_deep_stack_of_own_code_and_libraries_is_cut_to_the_lines_there_are(report):
    frames = [
        ("app:f{} 0.001", "flask.app:g{} 0", "json.encoder:h{} 0")[depth % 3].format(depth) for depth in range(3000)
    ]
    recording = tree("\n".join("  " * depth + frame for depth, frame in enumerate([*frames, "app:work 100"])))
    for libraries in (False, True):
        assert len(rows(report(recording, 80, tree=True, min=1, libraries=libraries, limit=40))) <= 45
