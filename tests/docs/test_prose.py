"""Pages, docstrings and comments are plain English: short sentences, without the words that made them hard to read."""

import ast
import inspect
import io
import re
import tokenize

import pytest
from paths import ROOT
from syntax import statements

PAGES = sorted(path for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))
NATIVE = sorted(path for path in (ROOT / "native").rglob("*.[ch]") if "vendor" not in path.parts)
FENCE = re.compile(r"^(?P<indent> *)```.*?^(?P=indent)```$", re.MULTILINE | re.DOTALL)
HARD_WORDS = re.compile(r"\b(told|tells|said|heard|untold|anew|apart|whoever|thereof)\b", re.IGNORECASE)
# The comments of a C file. Strings and characters are matched first, since they may contain the marks of a comment.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*)', re.DOTALL)
STAR = re.compile(r"^[ \t]*\*(?=\s|$)", re.MULTILINE)
# Names in the code may have these words: in backquotes, called or subscripted, or after a dot or an arrow.
IDENTIFIER = re.compile(r"`[^`]*`|(?:\.|->)[a-z]\w*|\w+(?=[(\[])")
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
    bare = (node.value for node in statements(ast.parse(source)) if isinstance(node, ast.Expr))
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


def hard_comments(code: str) -> list[str]:
    """Return the hard words and the long sentences of the comments of a C file."""
    texts = (STAR.sub("", found["block"] or found["line"] or "") for found in TOKEN.finditer(code))
    return [hard for text in texts for hard in HARD_WORDS.findall(IDENTIFIER.sub("name", text)) + long_sentences(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_plain(page):
    text = page.read_text(encoding="utf-8")
    assert HARD_WORDS.findall(text) == []
    assert long_sentences(text) == []


@pytest.mark.parametrize(("paths", "hard"), [(SOURCES, hard_prose), (NATIVE, hard_comments)], ids=["python", "c"])
def test_sources_are_plain(paths, hard):
    found = {path.relative_to(ROOT).as_posix(): hard(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: faults for path, faults in found.items() if faults} == {}


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


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("/* Whoever\n * is told. */", ["Whoever", "told"]),
        ("int x; // heard\n", ["heard"]),
        ("/* Set `told`, told[i], told(), of->untold and of.apart. */", []),
        ('char *told = "/* told */"; char quote = \'"\'; /* plain */', []),
    ],
)
def test_hard_words_are_found_in_comments_of_c_only(code, words):
    assert hard_comments(code) == words


def test_long_sentences_of_c_are_found():
    """Paragraphs, items of a list and parts of a sentence count by themselves."""
    short = "word " * MOST_WORDS
    assert hard_comments(f"/* {short}\n * word. */") == [f"{short}word."]
    assert hard_comments(f"/* {short}\n *\n * - {short}\n * - word: {short}*/") == []
