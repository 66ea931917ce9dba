"""The pages name only what seismo, its sessions and recordings have."""

import pkgutil
import re

import pytest
from paths import ROOT

import seismo

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
CODE = re.compile(r"^ *```(?:python|text)\b[^\n]*\n(?P<block>.*?)^ *```$|`(?P<span>[^`\n]+)`", re.MULTILINE | re.DOTALL)
SESSIONS = {
    "profile": seismo.profile,
    "trace": seismo.trace,
    "lines": seismo.lines,
    "cover": lambda: seismo.cover(rcfile=""),
    "objects": seismo.objects,
    "watch": lambda: seismo.watch("call"),
}
BOUND = re.compile(rf"seismo\.({'|'.join(SESSIONS)})\(.*\) as (\w+):")
RECORDING = seismo.Recording({}, None, {})


def exists(name):
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


def unknown(page):
    """Return the attributes of `seismo`, of sessions and of recordings that the page's code uses and nothing has."""
    code = "\n".join(match["block"] or match["span"] for match in CODE.finditer(page))
    objects = {"recording": [RECORDING]}
    if not re.search(r"\bsession\b[^.\n]* = |import session", code):
        objects["session"] = [make() for make in SESSIONS.values()]
    for verb, name in BOUND.findall(code):
        objects.setdefault(name, []).append(SESSIONS[verb]())
    found = []
    for name, kinds in objects.items():
        for attribute in re.findall(rf"(?<!\w){name}\.(\w+)", code):
            if not any(hasattr(type(kind), attribute) or attribute in vars(kind) for kind in kinds):
                found.append(f"{name}.{attribute}")
    return found + [name for name in re.findall(r"\b(seismo(?:\.\w+)+)\(", code) if not exists(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    assert unknown(page.read_text()) == []


def test_names_that_do_not_exist_are_found():
    page = """Call `session.start()`, `p.recording.nodes` or `seismo.begin()`.

```python
with seismo.profile() as p:
    pass
p.finish()
p.print()
p.recording.functions
```
"""
    assert unknown(page) == ["recording.nodes", "session.start", "p.finish", "seismo.begin"]
