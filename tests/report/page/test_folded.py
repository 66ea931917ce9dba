"""Long tables of the pages of lines and objects in a browser: folded, until somebody asks for all."""

import pytest
from browser import page, started

import seismo

MANY = "\n".join(f"def f{number}(): return {number}\n" for number in range(60)) + "\n".join(
    f"f{number}()" for number in range(60)
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folded")
    program = folder / "many.py"
    program.write_text(MANY)
    with seismo.lines() as recorded:
        exec(compile(MANY, str(program), "exec"), {"__name__": "many", "__file__": str(program)})
        __import__("string").Template("$a").substitute(a=1)
    recorded.save(folder / "a.seismo")
    from seismo.report.lines.page import write_lines

    write_lines(seismo.open(folder / "a.seismo"), folder / "a.html")
    return folder / "a.html"


@pytest.mark.browser
def test_long_tables_are_folded_until_asked(path):
    with started() as browser, page(browser) as view:
        view.goto(path.as_uri())
        rows = view.locator("#functions tbody tr:visible")
        button = view.locator(".unfold")
        assert rows.count() == 20
        assert button.inner_text().startswith("Show all ")
        view.locator("#functions th button").first.click()
        assert rows.count() == 20
        view.locator("#filter").fill("f5")
        assert rows.count() == 11  # f5 and f50 to f59
        view.locator("#filter").fill("")
        button.click()
        assert rows.count() >= 60
        assert button.count() == 0


def test_libraries_begin_at_a_line_of_their_own(path):
    source = path.read_text()
    assert source.count('<tr class="divider"><td colspan=') == 1
    assert source.index("f59</a>") < source.index('class="divider"')
