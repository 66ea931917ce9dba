"""Files, structures and folders are named after words that everybody knows, or that the glossary explains."""

import re
from pathlib import Path

from paths import ROOT

FOLDERS = {"native": "*.[ch]", "src/seismo": "*.py", "web/src": "*.ts"}
GLOSSARY = (ROOT / "docs" / "architecture.md").read_text().partition("\n## Glossary\n")[2].partition("\n## ")[0]
COMMON = set((Path(__file__).parent / "common_words.txt").read_text().split())
# Words that name too little. Each goes when what it names gets a better name.
TO_RENAME = set(
    re.findall(
        r"\w+",
        "about apart asked cell cut cutter gathered half happened hatch held keeper lab lane needs off paper parked "
        "passed reach room said scene taker wanted way wish wrong",
    )
)
STRUCTURE = re.compile(
    r"^typedef (?:struct|union|enum)[^;{]*\{.*?^\} (\w+);|^(?:struct|union|enum) (\w+) \{", re.MULTILINE | re.DOTALL
)


def words_of(name: str) -> list[str]:
    """Return the words of a name in snake case or camel case."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def names() -> dict[str, str]:
    """Return the names of folders, files and C structures, each with a file that has it."""
    found = {}
    for folder, pattern in FOLDERS.items():
        for path in (ROOT / folder).rglob(pattern):
            inside = path.relative_to(ROOT / folder)
            if inside.parts[0] == "vendor":
                continue
            found |= {part: inside.as_posix() for part in inside.with_suffix("").parts}
            if folder == "native":
                structures = ("".join(pair) for pair in STRUCTURE.findall(path.read_text()))
                found |= {name: inside.as_posix() for name in structures}
    return found


def singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def unknown(found: dict[str, str], known: set[str]) -> set[tuple[str, str, str]]:
    """Return each word that is neither known nor the plural of a known word, with its name and file."""
    return {
        (word, name, place)
        for name, place in found.items()
        for word in words_of(name)
        if not {word, singular(word)} & known and not word.isdigit()
    }


def test_names_are_common_words_or_in_the_glossary():
    explained = {part for term in re.findall(r"\*\*(.+?)\*\*", GLOSSARY) for part in term.lower().split()}
    explained |= {singular(word) for word in explained}
    assert unknown(names(), COMMON | explained | TO_RENAME) == set()
    assert not COMMON & explained, "one list is enough"


def test_unknown_words_are_found():
    found = {"sm_frobs": "a.c", "draw_points": "b.py", "FlameView": "c.ts"}
    expected = {("frobs", "sm_frobs", "a.c"), ("view", "FlameView", "c.ts")}
    assert unknown(found, {"sm", "draw", "point", "flame"}) == expected
