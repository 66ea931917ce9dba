"""Pages, docstrings and comments are plain English: short sentences, without the words that made them hard to read."""

import ast
import inspect
import io
import re
import tokenize

import pytest
from paths import ROOT

PAGES = sorted(path for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))
FENCE = re.compile(r"^(?P<indent> *)```.*?^(?P=indent)```$", re.MULTILINE | re.DOTALL)
HARD_WORDS = re.compile(r"\b(told|tells|said|heard|untold|anew|apart|whoever|thereof)\b", re.IGNORECASE)
INDIRECT = re.compile(r"(What|Whether|How)\b")
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


def docstrings(source: str) -> list[str]:
    """Return the docstrings, attributes' included, without their indented blocks."""
    bare = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    texts = [node.value for node in bare if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [re.sub(r"^  .*$", "", inspect.cleandoc(text), flags=re.MULTILINE) for text in texts]


def comments(source: str) -> str:
    """Return all comments: consecutive lines as one paragraph, a comment after code as another."""
    text, last = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            after_code = bool(token.line[:column].strip())
            text += ("\n\n" if after_code or line != last + 1 else "\n") + token.string.lstrip("# ")
            last = 0 if after_code else line
    return text


def hard_prose(source: str) -> list[str]:
    """Return the words and the sentences that make the docstrings and comments of a source hard to read."""
    texts = docstrings(source)
    found = [match[0] for match in map(INDIRECT.match, texts) if match]
    for text in (*texts, comments(source)):
        found += HARD_WORDS.findall(text) + long_sentences(text)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_plain(page):
    text = page.read_text(encoding="utf-8")
    assert HARD_WORDS.findall(text) == []
    assert long_sentences(text) == []


def test_sources_are_plain():
    found = {path.relative_to(ROOT).as_posix(): hard_prose(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: hard for path, hard in found.items() if hard} == {}


def test_long_sentences_are_found():
    """A table and a list of short items are no sentence."""
    long = "word " * MOST_WORDS
    assert long_sentences(f"{long}\nword.\n") == [f"{long}word."]
    assert long_sentences(f"| {long} word |\n\n- {long}\n- {long}\n\n```text\n{long} word\n```\n") == []


def test_hard_prose_is_found():
    """Names are no prose; a comment continues on the next line, but not if it is after code."""
    long = "word " * MOST_WORDS
    assert hard_prose(f'"""How it is:\n\n    table {long} word\n\nHere.\n"""\n') == ["How"]
    assert hard_prose('told = "said"  # as it was said\n"""What is there."""\n') == ["What", "said"]
    assert hard_prose(f"# {long}\n# word.\n") == [f"{long}word."]
    assert hard_prose(f"one = 1  # {long}\n# {long}\ntwo = 2  # {long}\n") == []
