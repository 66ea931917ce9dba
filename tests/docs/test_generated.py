"""Pages that are written by the program are what the program would write now."""

import children
from paths import ROOT


def test_command_page_is_up_to_date():
    children.python(ROOT / "tools" / "document.py", "--check")


def test_command_page_has_every_option_of_every_verb():
    from seismo.cli.completion import every_verb

    sections = (ROOT / "docs" / "cli.md").read_text().split("\n## seismo ")
    pages = {section.split("\n", 1)[0]: section for section in sections[1:]}
    for verb, parser in next(one for one in every_verb()._actions if isinstance(one.choices, dict)).choices.items():
        words = pages[verb].replace(",", " ").split()
        missing = set(parser._option_string_actions) - set(words)
        assert not missing - {"-m", "-c"}, f"{verb}: run `make docs`"
