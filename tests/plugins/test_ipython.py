"""%seismo and %%seismo, in an InteractiveShell of this process."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import children
import pytest
from inner import recorded

import seismo
from seismo.report.facts import command_line
from seismo.report.story.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator


DEFINITION = """\
def sign(n):
    if n < 0:
        return "<b>minus</b>"
    return "plus"
"""


class Notebook:
    """A shell; what its cells display is kept."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.result: Any = None
        self.data: list[dict[str, str]] = []
        self.printed = ""

    def run(self, cell: str) -> Any:
        """Runs a cell as a user does; the result is IPython's."""
        from IPython.utils.capture import capture_output

        with capture_output() as captured:
            result = self.shell.run_cell(cell, store_history=True)
        self.printed = captured.stdout + captured.stderr
        self.data = [output.data for output in captured.outputs]
        return result

    @property
    def number(self) -> int:
        """That of the last cell."""
        return next(reversed(self.shell.compile._filename_map.values()))

    @property
    def text(self) -> str:
        """What the magic displayed, as text."""
        return next(data["text/plain"] for data in self.data if "text/html" in data)

    @property
    def html(self) -> str:
        return next(data["text/html"] for data in self.data if "text/html" in data)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    interactiveshell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    from traitlets.config import Config

    patch = pytest.MonkeyPatch()
    patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = interactiveshell.InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "seismo")
    yield shell
    interactiveshell.InteractiveShell.clear_instance()
    patch.undo()


@pytest.fixture
def notebook(shell: Any) -> Notebook:
    book = Notebook(shell)
    book.run(DEFINITION)
    return book


def test_a_cell_is_profiled(notebook):
    result = notebook.run("%%seismo profile --sort calls\nfor n in range(7):\n    sign(n)\nlen('abc')")
    assert result.success
    assert result.result == 3
    assert re.search(r" 7  __main__:sign", notebook.text)
    assert "run_cell" not in notebook.text
    assert notebook.html.startswith('<pre style="font-family: ui-monospace')
    assert "__main__:&lt;module&gt;" in notebook.html
    assert "<module>" not in notebook.html


def test_the_lines_of_a_cell(notebook):
    assert notebook.run("%%seismo lines\ntotal = 0\nfor n in range(7):\n    total += n\ntotal;").result is None
    assert re.search(r" 7 .*    total \+= n", notebook.text)
    assert "sign" not in notebook.text


def test_the_lines_of_a_function_of_another_cell(notebook):
    assert notebook.run("%seismo lines -f sign [sign(n) for n in (1, 2, -1)][-1]").result == "<b>minus</b>"
    assert re.search(r" 2 .* 4      return \"plus\"", notebook.text)
    assert re.search(r" 1 .* 3          return \"<b>minus</b>\"", notebook.text)
    assert "&lt;b&gt;minus" in notebook.html
    assert "<b>" not in notebook.html


def test_what_a_cell_covers(notebook):
    assert notebook.run(f"%%seismo cover --branch --counts\n{DEFINITION}\nsign(1) + sign(2)").result == "plusplus"
    assert "~         2     if n < 0:" in notebook.text
    assert "✗                   return" in notebook.text
    assert "never true" in notebook.text
    assert 'style="color: #d1242f"' in notebook.html
    assert "&lt;b&gt;minus" in notebook.html


@recorded
def test_the_objects_of_a_cell(notebook):
    cell = "class Order:\n    pass\norders = [Order() for _ in range(1234)]\nlen(orders)"
    assert notebook.run(f"%%seismo objects --type '*Order' -r\n{cell}").success
    assert re.search(r"1,234 .*Order", notebook.text)
    assert re.search(rf"In \[{notebook.number}\]:3", notebook.text)
    assert notebook.run(f"%%seismo objects --types --sort live\n{cell.replace('Order', 'Item')}").result == 1234
    assert re.search(r"1,234 .*Item", notebook.text)
    assert "In [" not in notebook.text


@pytest.mark.parametrize("verb", ["profile", "lines", "cover", pytest.param("objects", marks=recorded)])
def test_an_error_is_shown_and_ends_the_cell(notebook, verb):
    result = notebook.run(f"%%seismo {verb}\nbefore = 1\nbefore / 0\nafter = 1")
    assert not result.success
    assert type(result.error_in_exec).__name__ == "ZeroDivisionError"
    assert notebook.printed.count("ZeroDivisionError: division by zero") == 1
    assert "----> 2 before / 0" in notebook.printed
    assert "magics.py" not in notebook.printed
    assert notebook.text


def test_a_cell_may_await(notebook):
    cell = "%%seismo profile --where 'module(\"__main__\")'\nimport asyncio\nawait asyncio.sleep(0, 5)"
    assert notebook.run(cell).result == 5


def test_running_the_wall_or_waiting_is_shown(notebook):
    cell = "import time\ndef rest():\n    time.sleep(0.05)\nrest()"

    def row(command, words):
        assert notebook.run(f"%%seismo {command}\n{cell}").success
        return next(line for line in notebook.text.splitlines() if line.endswith(words))

    profile = "profile -l 100 --c-functions none"
    for option in ("", "--time wall"):
        rest = f"__main__:rest  In [{notebook.number + 1}]:2"
        row(f"{profile} {option}", rest)
        whole, unit = re.search(r"\(100 % is ([\d.]+) (ms|s) of elapsed time\)", notebook.text).groups()
        assert float(whole) * {"ms": 1, "s": 1000}[unit] >= 49, "a busy machine adds to the time that is slept"
        assert "waiting" in notebook.text
    row(f"{profile} --time cpu", f"__main__:rest  In [{notebook.number + 1}]:2")
    assert "of running)" in notebook.text
    row(f"{profile} --time wait", f"__main__:rest  In [{notebook.number + 1}]:2")
    assert "Functions by time waiting" in notebook.text
    sleep = "3      time.sleep(0.05)"
    slept = re.search(r" 1 +[<≥≈]? ?([\d.]+) (ms|s) ", row("lines", sleep))
    assert float(slept[1]) * {"ms": 1, "s": 1000}[slept[2]] >= 49
    assert " waiting " in notebook.text
    row("lines --time wait", sleep)
    assert " own " not in notebook.text
    row("lines", sleep)
    assert re.search(r" own +waiting ", notebook.text)


def test_the_recording_can_be_kept(notebook, tmp_path):
    path = tmp_path / "cell.seismo"
    result = notebook.run(f"%seismo profile -q -r -o '{path}' sign(1)")
    assert notebook.data[:-1] == []
    assert isinstance(result.result, seismo.Recording)
    assert "sign" in list(seismo.open(path).functions["qualname"])


@pytest.mark.parametrize("verb", ["profile", "objects"])
def test_what_shows_more_rows_is_said_in_the_magics_own_words(notebook, verb):
    if verb == "objects" and sys.version_info < (3, 13, 3):
        verb = "profile"
    cell = f"%%seismo {verb} -l 1\nimport fractions\n[sign(1), sorted([fractions.Fraction(1), 2])]"
    assert notebook.run(cell).success
    assert "(-l N)" in notebook.text
    assert "--limit" not in notebook.text + notebook.html


def test_a_file_of_somebody_elses_stays(notebook, tmp_path):
    path = tmp_path / "cell.seismo"
    path.write_text("precious")
    result = notebook.run(f"%seismo profile -q -o '{path}' never_run(1)")
    assert not result.success
    assert "--force overwrites it" in notebook.printed
    assert path.read_text() == "precious"
    for force in ("--force", ""):
        assert notebook.run(f"%seismo profile -q {force} -o '{path}' sign(1)").success
        assert "sign" in list(seismo.open(path).functions["qualname"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%seismo paint 1", "there is no %seismo 'paint'"),
        ("%seismo profile", "record what?"),
        ("%seismo profile --tree 1", "%seismo profile has no option --tree"),
        ("%seismo profile -l x 1", "-l cannot be 'x'"),
        ("%seismo profile --sort size 1", "functions cannot be sorted by 'size'"),
        ("%seismo profile --where 'x(' 1", "--where"),
        ("%seismo lines -f", "-f needs a value"),
        ("%seismo lines -f missing 1", "-f missing: NameError"),
        ("%%seismo cover 1 + 1\n2", "unexpected text after the options of a cell"),
    ],
)
def test_mistakes_are_said_in_a_line(notebook, line, words):
    result = notebook.run(line)
    assert not result.success
    assert words in notebook.printed or words == "--where"
    assert "Traceback" not in notebook.printed


def test_help(notebook):
    notebook.run("%seismo --help")
    assert "profile|lines|cover|objects" in notebook.printed
    assert notebook.printed.count("wall (elapsed, the default)") == 2


def test_unload(shell):
    shell.run_line_magic("unload_ext", "seismo")
    try:
        assert not any("seismo" in of for of in shell.magics_manager.magics.values())
    finally:
        shell.run_line_magic("load_ext", "seismo")
    assert all("seismo" in shell.magics_manager.magics[kind] for kind in ("line", "cell"))


def test_cells_leave_no_files(tmp_path):
    program = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "seismo")
shell.run_cell("%seismo profile -q 1")
"""
    children.python("-c", program, env=children.environment(IPYTHONDIR=str(tmp_path / "ipython"), TMPDIR=str(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["ipython"]


def test_cells_are_called_what_their_reader_calls_them(notebook):
    notebook.run("def count(n):\n    while n:\n        n -= 1\n")
    defined = notebook.number
    notebook.run("%%seismo profile\nimport time\ntime.sleep(0.01)  # takes a column of its own\ncount(300_000)")
    mine = notebook.number
    assert mine == defined + 1
    assert re.search(rf"__main__:count  In \[{defined}\]:1", notebook.text)
    assert notebook.text.count("__main__:<module>") == 1, "the last expression is part of its cell"
    notebook.run("%%seismo profile\ntotal = 0\nfor n in range(300_000):\n    total += n")
    assert re.search(rf"__main__:<module>  In \[{notebook.number}\]:1", notebook.text)
    notebook.run("%%seismo lines -f count\ncount(3)")
    assert f"In [{defined}]  " in notebook.text
    for shown in (notebook.text, notebook.html):
        assert "seismo-cells" not in shown
        assert "ipython-input" not in shown


@pytest.fixture
def busy(notebook, tmp_path, monkeypatch):
    """A notebook in which a thread of an earlier cell runs `shared` of a module and makes objects, all the time."""
    (tmp_path / "shared_work.py").write_text(
        "class Item:\n    pass\n\n\ndef shared(n):\n    made = Item()\n    if n:\n        made = 1\n    return made\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    notebook.run(
        "import sys, threading, time; sys.modules.pop('shared_work', None); import shared_work\n"
        "stop = threading.Event(); rounds = 0\n"
        "def earlier():\n    global rounds\n"
        "    while not stop.is_set():\n        shared_work.shared(1); rounds += 1; time.sleep(0.0001)\n"
        "def till_it_ran():\n    until = rounds + 20\n    while rounds < until:\n        time.sleep(0.001)\n"
        "thread = threading.Thread(target=earlier); thread.start(); till_it_ran()"
    )
    yield notebook
    assert notebook.run("stop.set(); thread.join()").success


# Twice by the cell's own thread and once by a new one, always the way that the earlier thread never takes.
CELL = """
shared_work.shared(0); shared_work.shared(0)
mine = threading.Thread(target=shared_work.shared, args=(0,)); mine.start(); mine.join()
till_it_ran()
"""


def test_percentages_are_of_what_the_cell_did(busy):
    """The shell's own frames, and threads that run already as a kernel's do, are no part of it; new threads are."""
    busy.run(f"%%seismo profile -l 100\n{CELL}")
    assert re.search(r" 3  shared_work:shared", busy.text)
    assert not re.search("earlier|run_cell|IPython", busy.text)


def hits_of(recording):
    """How often each line of `shared` ran."""
    shared = list(recording.functions["qualname"]).index("shared")
    return {row.line: row.hits for row in recording.lines if row.function == shared}


def test_the_lines_that_threads_of_earlier_cells_run_are_not_the_cells(busy):
    for _ in range(2):  # the second finds threads that the first has met
        assert hits_of(busy.run(f"%%seismo lines -r -m shared_work\n{CELL}").result) == dict.fromkeys((6, 7, 9), 3)
        assert busy.text.count("made = 1") == 1


@pytest.mark.parametrize("options", ["", "--branch --counts"])
def test_what_threads_of_earlier_cells_cover_is_not_the_cells(busy, options):
    for _ in range(2):
        recording = busy.run(f"%%seismo cover {options} -r --source shared_work\n{CELL}").result
        assert hits_of(recording) == dict.fromkeys((6, 7, 9), 3 if "counts" in options else 1)
        assert re.search(r"shared_work.py +7 +4 ", busy.text), "the module's body and one way of the function"


@recorded
@pytest.mark.parametrize("option", ["", "--types"])
def test_the_objects_that_threads_of_earlier_cells_make_are_not_the_cells(busy, option):
    for _ in range(2):
        recording = busy.run(f"%%seismo objects -r {option}\n{CELL}").result
        assert [row.born for row in recording.types if row.name == "Item"] == [3]


def test_a_notebook_says_an_error_once(notebook):
    """In a kernel each error that IPython shows is an output of its own."""
    shown = []
    shell = notebook.shell
    original = shell._showtraceback
    shell._showtraceback = lambda kind, error, lines: shown.append((kind.__name__, lines))
    try:
        notebook.run("%%seismo profile\n1/0")
        notebook.run("%%seismo profile\n1 +")
    finally:
        shell._showtraceback = original
    assert [name for name, _ in shown] == ["ZeroDivisionError", "SyntaxError"]
    assert all(lines and "run_cell_magic" not in "".join(lines) for _, lines in shown)


@pytest.mark.parametrize(
    ("path", "main", "title"),
    [
        ("/home/me/My sales.ipynb", None, "'My sales.ipynb'"),
        ("", "/home/me/<b>.ipynb", "'<b>.ipynb'"),
        ("", None, "'Jupyter kernel'"),
    ],
)
def test_a_recording_in_a_kernel_is_titled_by_the_notebook(notebook, monkeypatch, path, main, title):
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "kernel-1234.json"])
    monkeypatch.setenv("JPY_SESSION_NAME", path)  # by Jupyter's server
    monkeypatch.setitem(vars(sys.modules["__main__"]), "__vsc_ipynb_file__", main)  # by VS Code
    recording = notebook.run("%seismo profile -q -r sign(1)").result
    assert command_line(recording) == title
    with seismo.cover(rcfile="") as session:
        pass
    assert command_line(session.recording) == title
    steps = Steps(recording, "cell.seismo")
    steps.record("the lines", "lines")
    assert steps.section().rows == [], "no command runs the cell again"


def test_a_kernel(tmp_path, monkeypatch):
    """The same in a notebook's own kernel, with its threads and its event loop."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(Path(seismo.__file__).parents[1]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    cells = [
        "%load_ext seismo",
        DEFINITION,
        "%%seismo profile\nimport time\ntime.sleep(0.2)\nsign(1)",
        "%seismo lines 1/0",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=60, allow_errors=True, resources={"metadata": {"path": tmp_path}}).execute()
    (table, *_) = (output.data["text/plain"] for output in book.cells[2].outputs if "data" in output)
    assert "time:sleep" in table.splitlines()[2], "not what the kernel's threads wait for"
    assert re.search(r"__main__:sign  In \[2\]:1", table)
    assert re.search(r"__main__:<module>  In \[3\]:1", table)
    assert not re.search("zmq|ipykernel|selectors|heartbeat", table)
    errors = [output for output in book.cells[3].outputs if output.output_type == "error"]
    assert [error.ename for error in errors] == ["ZeroDivisionError"]
