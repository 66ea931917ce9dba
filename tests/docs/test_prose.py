"""The pages are plain English: short sentences, and none of the words that made them hard to read."""

import re

import pytest
from paths import ROOT

# Pages that are still to be rewritten.
PAGES = sorted(path for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md"))
FENCE = re.compile(r"^(?P<indent> *)```.*?^(?P=indent)```$", re.MULTILINE | re.DOTALL)
HARD_WORDS = re.compile(r"\b(told|tells|said|heard|untold|anew|apart|whoever|thereof)\b", re.IGNORECASE)
MOST_WORDS = 35
# Where a sentence ends: at its punctuation, or where the next item, heading or paragraph begins.
ENDS = re.compile(r"(?<=[.!?:;])[*\")]*\s|\n\s*\n|\n\s*(?=[-*] |\d+\. |#)")
WORD = re.compile(r"\w")


def prose(text: str) -> str:
    """Return the text without code blocks, tables and the markers of generated parts."""
    lines = FENCE.sub("", text).splitlines()
    return "\n".join("" if line.lstrip().startswith(("|", "<!--")) else line for line in lines)


def long_sentences(text: str) -> list[str]:
    """Return the sentences of the prose that have more than MOST_WORDS words."""
    sentences = (part.split() for part in ENDS.split(prose(text)))
    return [" ".join(words) for words in sentences if sum(map(bool, map(WORD.search, words))) > MOST_WORDS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_plain(page):
    text = page.read_text(encoding="utf-8")
    assert HARD_WORDS.findall(text) == []
    assert long_sentences(text) == []


def test_long_sentences_are_found():
    """A table and a list of short items are no sentence."""
    long = "word " * MOST_WORDS
    assert long_sentences(f"{long}\nword.\n") == [f"{long}word."]
    assert long_sentences(f"| {long} word |\n\n- {long}\n- {long}\n\n```text\n{long} word\n```\n") == []
