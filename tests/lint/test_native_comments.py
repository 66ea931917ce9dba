"""Comments of the native code are plain English, like the pages: short sentences, and none of the hard words."""

import re
from pathlib import Path

import pytest
from paths import ROOT

NATIVE = ROOT / "native"
FILES = sorted(path for path in NATIVE.rglob("*.[ch]") if NATIVE / "vendor" not in path.parents)
# The comments of a C file. Strings and characters are matched first, since they may contain the marks of a comment.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*)', re.DOTALL)
STAR = re.compile(r"^[ \t]*\*(?=\s|$)", re.MULTILINE)
# Names in the code may have these words: in backquotes, called or subscripted, or after a dot or an arrow.
IDENTIFIER = re.compile(r"`[^`]*`|(?:\.|->)[a-z]\w*|\w+(?=[(\[])")
HARD_WORDS = re.compile(r"\b(told|tells|said|heard|untold|anew|apart|whoever|thereof)\b", re.IGNORECASE)
MOST_WORDS = 35
# Where a sentence ends: at its punctuation, or where the next item or paragraph begins.
ENDS = re.compile(r"(?<=[.!?:;])[*\")]*\s|\n\s*\n|\n\s*(?=[-*] |\d+\. )")
WORD = re.compile(r"\w")


def comments(code: str) -> list[str]:
    """Return the texts of the comments, without their stars."""
    texts = (found["block"] or found["line"] for found in TOKEN.finditer(code))
    return [STAR.sub("", text) for text in texts if text]


def faults(code: str) -> list[str]:
    """Return the hard words and the long sentences of the comments."""
    found = []
    for text in comments(code):
        found += HARD_WORDS.findall(IDENTIFIER.sub("name", text))
        sentences = (sentence.split() for sentence in ENDS.split(text))
        found += [" ".join(words) for words in sentences if sum(map(bool, map(WORD.search, words))) > MOST_WORDS]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(NATIVE).as_posix())
def test_comments_are_plain(path: Path):
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("/* Whoever\n * is told. */", ["Whoever", "told"]),
        ("int x; // heard\n", ["heard"]),
        ("/* Set `told`, told[i], told(), of->untold and of.apart. */", []),
        ('char *told = "/* told */"; char quote = \'"\'; /* plain */', []),
    ],
)
def test_hard_words_are_found_in_comments_only(code, words):
    assert faults(code) == words


def test_long_sentences_are_found():
    """Paragraphs, items of a list and parts of a sentence count by themselves."""
    short = "word " * MOST_WORDS
    assert faults(f"/* {short}\n * word. */") == [f"{short}word."]
    assert faults(f"/* {short}\n *\n * - {short}\n * - word: {short}*/") == []
