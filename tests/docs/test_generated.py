"""Pages that are written by the program are what the program would write now."""

import children
from paths import ROOT


def test_command_page_is_up_to_date():
    children.python(ROOT / "tools" / "document.py", "--check")


def test_command_page_has_every_option_of_every_verb():
    from seismo.cli.completion import commands

    sections = (ROOT / "docs" / "cli.md").read_text().split("\n## seismo ")
    pages = {section.split("\n", 1)[0]: section for section in sections[1:]}
    for command in commands():
        words = pages[command.verb].replace(",", " ").split()
        missing = [name for flag in command.flags for name in flag.names if name not in words]
        assert not set(missing) - {"-m", "-c"}, f"{command.verb}: run `make docs`"
