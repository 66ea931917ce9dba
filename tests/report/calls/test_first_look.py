"""What a reader sees first: the cause of each slow program, within twelve lines of eighty columns."""

import re
from pathlib import Path

import children
import pytest

from seismo.cli.main import main

PLANTED = Path(__file__).parent / "planted"
CAUSES = {
    "slow_c_call": r"zlib:compress|__main__:respond",
    "sleep_in_handler": r"__main__:fetch_profile",
    "lock": r"__main__:write_report",
    "imports": r"import (asyncio|unittest)",
    "recursion": r"__main__:ways",
    "collector": r"__main__:load|gc:collect",
    "debug_logging": r"logging:Logger\.debug",
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_among_the_first_lines(name, tmp_path, monkeypatch, capsys):
    children.seismo("profile", "-q", "-o", "it.seismo", PLANTED / f"{name}.py", cwd=tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["report", str(tmp_path / "it.seismo")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.search(r" took [\d.]+ (ms|s)", lines[0])
    assert any(line.startswith("Call tree by elapsed time") for line in lines[1:4])  # below what held threads up
    cause = [at for at, line in enumerate(lines) if re.search(CAUSES[name], line)]
    assert cause, "\n".join(lines)
    assert cause[0] < 12, "\n".join(lines[:30])
