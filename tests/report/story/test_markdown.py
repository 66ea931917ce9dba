"""A story in Markdown, read by a Markdown parser: whatever names are, it has our structure and shows them as code."""

import functools

import pytest
import story_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_objects import server
from markdown_it import MarkdownIt

from seismo.escape import printable
from seismo.model import Builder
from seismo.report import words
from seismo.report.kind import of
from seismo.report.story.markdown import markdown

# All that a reader may make of Markdown: HTML, tables, struck-out text, and links of what looks like an address.
PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": True, "typographer": True})
BLOCKS = {"heading", "paragraph", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td"}
KNOWN = {f"{name}_{end}" for name in BLOCKS for end in ("open", "close")} | {"inline", "fence"}
INLINE = {"text", "code_inline", "strong_open", "strong_close", "text_special"}


def parsed(text):
    """Blocks, and what stands in them, after making sure that there is nothing else than we write."""
    blocks = PARSER.parse(text)
    assert {block.type for block in blocks} <= KNOWN
    inline = [token for block in blocks for token in block.children or ()]
    assert {token.type for token in inline} <= INLINE
    return blocks, inline


def structure(text):
    """What a document is made of, without its words."""
    return [(block.type, block.tag, block.level) for block in parsed(text)[0]]


def rows_of_tables(blocks):
    """How many cells each row has, table by table."""
    tables, cells = [], 0
    for block in blocks:
        if block.type == "table_open":
            tables.append([])
        elif block.type in ("td_open", "th_open"):
            cells += 1
        elif block.type == "tr_close":
            tables[-1].append(cells)
            cells = 0
    return tables


@pytest.fixture
def text(tmp_path):
    recording = samples.hostile(tmp_path)
    return markdown(of(recording).story(recording, "evil | `x`.seismo", most=500), 5_000)


def test_hostile_names_are_code(text):
    blocks, inline = parsed(text)
    code = {token.content for token in inline if token.type == "code_inline"}
    for number, name in enumerate(samples.HOSTILE):
        shown = words.beginning(printable(f"{name}:{name}{number}"), 100, words.Signs())
        shown = shown.replace("\\|", "\\x7c") if f"`{shown}`" not in text else shown
        assert any(shown.strip() == one.strip() for one in code), name
    assert all(len(set(table)) == 1 for table in rows_of_tables(blocks))
    headings = [blocks[at + 1].content for at, block in enumerate(blocks) if block.type == "heading_open"]
    assert [heading.split(" by ")[0] for heading in headings[1:]] == [
        "Call tree", "Functions", "Sources of these", "Threads", "What to look at next",
    ]  # fmt: skip


@pytest.mark.parametrize("lines", [1, 4, 10, 16, 25, 40, 58, 5_000])
def test_no_name_stands_in_words(tmp_path, lines):
    recording = samples.hostile(tmp_path)
    text = markdown(of(recording).story(recording, "evil.seismo", most=500), lines)
    _, inline = parsed(text)
    said = " ".join(token.content for token in inline if token.type in ("text", "text_special"))
    for sign in ("script", "alert", "example.org", "Ignore all", "@someone", "forged", "heading", "\u202e", "\x1b"):
        assert sign not in said
    assert all(char.isprintable() or char == "\n" for char in text)


def test_source_is_a_block_that_it_cannot_leave(text):
    blocks, _ = parsed(text)
    fences = [block for block in blocks if block.type == "fence"]
    assert fences
    assert any("```\n" in block.content and "<script>" in block.content for block in fences)
    assert {block.info for block in fences} == {"text"}


@pytest.mark.parametrize("hostile", ["|`<b>", "\n# x\n", "[a](https://example.org)"])
def test_objects_with_hostile_names(tmp_path, hostile):
    recording = server(tmp_path / "app", hostile=hostile)
    blocks, _ = parsed(markdown(of(recording).story(recording), 2_000))
    assert all(len(set(table)) == 1 for table in rows_of_tables(blocks))


def named(name):
    """A recording in which all that can be named has this name."""
    b = Builder()
    process = b.process(pid=1, argv=["app.py", name], start_ns=10**18, end_ns=10**18 + 10**9)
    threads = [b.thread(process, name=name, wall_ns=5), b.thread(process, name=name, wall_ns=5)]
    function = b.function(name, name, f"{name}.py", 3)
    node = b.node(-1, threads[0], function, calls=2, own_ns=10**6)
    b.node(node, threads[0], b.function(name, "other", f"{name}.py", 9), calls=1, own_ns=10**5)
    b.node(-1, threads[1], function, calls=1, own_ns=10**5)
    b.loss("unknown", 1, name)
    return b.build({"python": name})


SIGNS = st.text(st.sampled_from("|\\`<>[]()!*_~#-+.:/@&;=\"' \n\r\tab1w\u202e\u2028é"), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(name=SIGNS)
def test_any_name_leaves_the_structure_as_it_is(name):
    recording = named(name)
    story = of(recording).story(recording, name)
    for lines in (1_000, 50):
        assert structure(markdown(story, lines)) == of_a_plain_name(lines)


@functools.cache
def of_a_plain_name(lines):
    plain = named("plain")
    return structure(markdown(of(plain).story(plain, "plain"), lines))
