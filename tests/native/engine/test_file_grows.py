"""The file of a recording that goes on for long: bounded by what it holds, whole at any moment, and only ever ours."""

import os
import stat
import threading
from collections import Counter
from itertools import pairwise

import children
import pytest
from births import needs_tracer
from chunks import frames, payloads, read_uvarint
from lab import PRELUDE, environment, load, run, start
from recorded import Image
from threads import beside

from seismo import _core
from seismo.model import read

FUNCTIONS = 300


def functions(body="pass"):
    names = {}
    for i in range(FUNCTIONS):
        exec(f"def f{i}(): {body}", names)
    return [names[f"f{i}"] for i in range(FUNCTIONS)]


@pytest.fixture
def inode(path):
    """inode(): the number of the file now. It stays open, so that no later file gets the same number."""
    kept = {}

    def number():
        descriptor = os.open(path, os.O_RDONLY)
        found = os.fstat(descriptor).st_ino
        if kept.setdefault(found, descriptor) != descriptor:
            os.close(descriptor)
        return found

    yield number
    for descriptor in kept.values():
        os.close(descriptor)


@pytest.fixture
def recorded(path):
    """recorded(**options): starts recording into the file `path`, which is closed at the end."""
    descriptors = []

    def begin(**options):
        descriptors.append(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        start(None, fd=descriptors[-1], flush_ms=0, **options)  # the tests alone flush
        return path

    yield begin
    _core.stop()
    _core.stop(recorder="coverage")
    for fd in descriptors:
        os.close(fd)


def rounds(some, number):
    for _ in range(number):
        for function in some:
            function()
        _core.flush()


def whole(path):
    recording = read(path, running=True)
    assert recording.problems == []
    return recording


def of_functions(recording, rows):
    """(name, row) of the rows that are of functions()."""
    names = recording.functions["qualname"]
    return [(names[row.function], row) for row in rows if row.function >= 0 and names[row.function][1:].isdigit()]


def calls(path):
    recording = whole(path)
    found = Counter()
    for name, row in of_functions(recording, recording.tree):
        found[name] += row.calls
    return found


def born(path):
    recording = whole(path)
    return {name: row.born for name, row in of_functions(recording, recording.objects)}


@pytest.mark.parametrize("recorder", ["calltree", "linetimes", pytest.param("lifetimes", marks=needs_tracer)])
def test_as_large_after_an_hour_as_after_ten_minutes(recorded, inode, recorder):
    """Flushes between which everything is called."""
    path = recorded(recorder=recorder)
    some = functions("return object()")
    inodes, largest = set(), 0
    for number in range(1, 41):
        rounds(some, 10)
        inodes.add(inode())
        largest = max(largest, path.stat().st_size)
        if recorder != "linetimes":
            assert set((calls if recorder == "calltree" else born)(path).values()) == {10 * number}
    assert largest <= 4 * len(read(path, running=True).to_bytes())
    assert len(inodes) > 1  # it was written anew


LINES = 20_000


@needs_tracer
def test_births_in_many_lines_are_all_in_the_file(recorded):
    """Of a program that makes a few objects in each of many lines, whole functions had no births, and no loss said so:
    rows were numbered so that the reader took most of them for damaged."""
    names = {}
    exec("def f(x):\n" + "    [x]\n" * LINES, names)
    path = recorded(recorder="lifetimes")
    for number in range(1, 4):
        names["f"](None)
        _core.flush()
        recording = whole(path)
        assert sum(recording.types["born"].tolist()) == sum(recording.objects["born"].tolist()) >= LINES * number
        f = recording.functions["qualname"].index("f")
        lines = {row.line: row.born for row in recording.objects if row.function == f}
        assert [lines.get(line) for line in range(2, LINES + 2)] == [number] * LINES
    again = read(_core.snapshot())
    assert again.problems == []
    assert sum(again.types["born"].tolist()) == sum(again.objects["born"].tolist())


@needs_tracer
def test_ages_that_come_later_are_rows_of_their_own(recorded, inode):
    """An object's age may be the first of its kind in any flush, and in a file that was written anew."""
    path = recorded(recorder="lifetimes")
    some = functions("return object()")
    inodes = set()
    for number in range(40):
        kept = [function() for function in some[: 7 * number + 1]]
        for _ in range(number**2):
            object()
        del kept
        _core.flush()
        inodes.add(inode())
        recording = whole(path)
        ages = {}
        for row in recording.lifetimes:
            assert (row.object, row.unit, row.bucket) not in ages
            ages[row.object, row.unit, row.bucket] = row.count
        # Another thread of the tests' process may drop an object of its own while the rows are written.
        born_here = {row.id for _, row in of_functions(recording, recording.objects)}
        assert born_here
        for unit in (0, 1):
            sums = dict.fromkeys(born_here, 0)
            for (of, counted, _), count in ages.items():
                sums[of] = sums.get(of, 0) + (count if counted == unit else 0)
            assert all(sums[of] == recording.objects["died"][of] for of in born_here)
    assert len(inodes) > 1  # it was written anew


def test_whole_after_every_flush(recorded, inode):
    path = recorded()
    some = functions()
    seen = []
    for number in range(1, 40):
        rounds(some[: number * 5], 1)
        seen.append(inode())
        assert calls(path) == {f"f{i}": number - i // 5 for i in range(min(FUNCTIONS, number * 5))}
        assert os.listdir(path.parent) == [path.name]
    assert sum(one != other for one, other in pairwise(seen)) > 2  # it was written anew


def test_only_paths_from_a_number_on(recorded):
    """Their callers come with them; what older paths have done since is written by the next whole flush."""
    path = recorded()
    old, new = functions()[:2]

    def earlier():
        old()

    def later():
        old()
        new()

    earlier()
    _core.flush()
    since = _core.paths()
    earlier()
    later()
    _core.flush("calltree", since)
    assert calls(path) == {"f0": 2, "f1": 1}, "once below earlier(), and once below later()"
    _core.flush()
    assert calls(path) == {"f0": 3, "f1": 1}


def test_the_descriptor_keeps_its_number_the_file_its_rights_and_who_has_it_open_reads_on(recorded):
    path = recorded()
    path.chmod(0o640)
    open_ones = [int(name) for name in os.listdir("/proc/self/fd")]
    (fd,) = [fd for fd in open_ones if os.path.realpath(f"/proc/self/fd/{fd}") == str(path)]
    some = functions()
    rounds(some, 1)
    with path.open("rb") as file:
        rounds(some, 20)
        content = file.read()
    assert read(content, running=True).problems == []
    assert os.path.samestat(os.fstat(fd), path.stat())
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not os.get_inheritable(fd)
    assert _core.file() == (path.stat().st_dev, path.stat().st_ino)


@pytest.mark.parametrize("what", ["linked", "moved", "replaced", "removed"])
def test_what_cannot_be_written_anew_goes_on_growing(recorded, tmp_path, what):
    path = recorded()
    some = functions()
    rounds(some, 1)
    other = tmp_path / "other"
    if what == "linked":
        os.link(path, other)
    elif what == "removed":
        path.unlink()
    else:
        path.rename(other)
        if what == "replaced":
            path.write_bytes(b"precious")
    rounds(some, 10)
    if what == "replaced":
        assert path.read_bytes() == b"precious"
    if what != "removed":
        assert set(calls(other).values()) == {11}
    both = {path.name, "other"}
    left = {"linked": both, "moved": {"other"}, "replaced": both, "removed": set()}
    assert set(os.listdir(tmp_path)) == left[what]


@pytest.mark.parametrize("size", [0, 100])
def test_a_file_that_somebody_cut_is_whole_at_the_next_flush(recorded, size):
    path = recorded()
    some = functions()
    rounds(some, 1)
    os.truncate(path, size)
    rounds(some, 1)
    assert set(calls(path).values()) == {2}


def test_a_full_disk_while_it_is_written_anew(path):
    """The new file does not fit beside the old one, which goes on where it was. What comes meanwhile is kept once."""
    program = """
import resource, signal
path = sys.argv[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
start(fd=file(path), flush_ms=1_000_000)
names = {}
for i in range(300):
    exec(f"def f{i}(): pass", names)
def rounds(number):
    for _ in range(number):
        for i in range(300):
            names[f"f{i}"]()
        _core.flush()
rounds(1)
size = os.stat(path).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, resource.RLIM_INFINITY))
def kilobytes():
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * resource.getpagesize() // 1024
rounds(100)
before = kilobytes()
rounds(1000)
print(kilobytes() - before)
assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
def behind():
    with open(path, "rb") as file: return file.read(12)[10]
assert behind() == 1  # it says so
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
rounds(10)
assert behind() == 0
_core.stop()
"""
    grown = int(run(program, str(path)))
    assert set(calls(path).values()) == {1111}
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps freed memory
        assert grown < 1000  # kB, of 300,000 updates


def test_what_the_standard_output_goes_to_is_not_replaced(path):
    with path.open("wb") as file:
        program = PRELUDE + "start(fd=1)\nfor _ in range(200): work(3); _core.flush()\n_core.stop()\n"
        children.python("-c", program, stdout=file, env=environment())
        assert os.path.samestat(os.fstat(file.fileno()), path.stat())
    assert load(path).calls()["leaf"] == 600


def test_coverage_with_counts(recorded):
    path = recorded(recorder="coverage", counts=True)
    some = functions()
    for _ in range(300):
        for function in some:
            function()
        _core.flush("coverage")
    recording = whole(path)
    assert path.stat().st_size <= 4 * len(recording.to_bytes())
    assert {row.hits for _, row in of_functions(recording, recording.lines)} == {300}
    _core.stop(recorder="coverage")
    assert read(path).problems == []
    assert not list(read(path).losses)


CONTEXTS = 40


def served(path, inode, requests, threads=0):
    """A service under coverage: every request is one of CONTEXTS kinds, each with functions of its own."""
    some = functions()
    stop = threading.Event()

    def others():
        while not stop.is_set():
            exec("def fresh():\n    x = 1\n    return x\nfresh()", {})

    inodes, largest = set(), 0.0
    with beside(*[others] * threads):
        for request in range(requests):
            kind = request * 7 % CONTEXTS
            _core.cover_context(f"kind {kind}")
            for function in some[kind::CONTEXTS]:
                function()
            if request % 10 == 9:
                _core.flush("coverage")
                inodes.add(inode())
            if request % 500 == 499:
                largest = max(largest, path.stat().st_size / len(read(path, running=True).to_bytes()))
        _core.cover_context("")
        stop.set()
    _core.stop(recorder="coverage")
    return inodes, largest


def ran(path):
    """By context the functions of which the one line ran in it."""
    recording = read(path)
    assert recording.problems == []
    assert not list(recording.losses)
    names, lines = recording.functions["qualname"], list(recording.lines)
    contexts = list(recording.contexts["name"])
    assert len(contexts) == len(set(contexts))
    found = {}
    for context, kind, row in recording.context_rows():
        name = names[lines[row].function]
        if kind == 0 and name[1:].isdigit():
            found.setdefault(contexts[context], set()).add(name)
    return found


OF_CONTEXTS = {f"kind {kind}": {f"f{i}" for i in range(kind, FUNCTIONS, CONTEXTS)} for kind in range(CONTEXTS)}


@pytest.mark.parametrize("threads", [0, 2])
def test_coverage_with_contexts_is_bounded_by_what_is_distinct_in_it(recorded, inode, tmp_path, threads):
    path = recorded(recorder="coverage")
    inodes, largest = served(path, inode, 2000, threads)
    assert len(inodes) > 1  # it was written anew
    assert largest <= 4
    assert ran(path) == OF_CONTEXTS
    assert os.listdir(tmp_path) == [path.name]


def test_coverage_with_contexts_in_a_file_that_cannot_be_written_anew(recorded, inode, tmp_path):
    """It goes on growing, and is right."""
    path = recorded(recorder="coverage")
    os.link(path, tmp_path / "other")
    inodes, _ = served(path, inode, 1000)
    assert len(inodes) == 1
    assert ran(path) == OF_CONTEXTS


def test_contexts_that_somebody_has_cut_off_the_file_are_not_written_anew(recorded):
    """What is left of them stays as it is, and the reader says what is missing."""
    path = recorded(recorder="coverage")
    some = functions()
    for number in range(300):
        _core.cover_context(f"kind {number % 10}")
        for function in some[number % 10 :: 10]:
            function()
        _core.flush("coverage")
        if number == 20:
            os.truncate(path, 200)
    _core.stop(recorder="coverage")
    assert read(path).problems


# ---- traces: their journal is never out of date, and at their end rows that are do not stay in the file ----


def journal_of(data):
    """(kind, payload) of the chunks of a file's journal."""
    kinds = (b"JRNL", b"HEAD", b"LEVL", b"LONG")
    return [(kind, data[start + 12 : end]) for start, end, kind in frames(data) if kind in kinds]


def check_trace(path, number):
    """Each function was called this number of times, by the tree and by the journal."""
    assert list(calls(path).values()) == [number] * FUNCTIONS
    recording = read(path)
    assert {row.kind for row in recording.losses} <= {"sites-off"}
    window = recording.calls.window()
    assert window.problems == []
    assert len(of_functions(recording, window.calls)) == number * FUNCTIONS


def test_the_rows_of_a_long_trace_are_there_once_at_its_end(recorded, inode):
    """Every flush writes every counter anew: without its end the file has two hundred rows for each."""
    path = recorded(journal=True)
    rounds(functions(), 200)
    before, first = path.read_bytes(), inode()
    _core.stop()
    check_trace(path, 200)
    data = path.read_bytes()
    assert inode() != first
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(data) < len(before) * 2 / 3
    written = [read_uvarint(payload, 1)[0] for payload in payloads(data, b"TABL") if payload[0] == 3]
    assert sum(written) == len(Image(data).nodes)
    was = journal_of(before)
    assert journal_of(data)[: len(was)] == was
    assert os.listdir(path.parent) == [path.name]


def test_a_trace_of_many_calls_is_left_as_it_is(recorded, inode):
    """Where the journal is the larger part there is little to gain."""
    path = recorded(journal=True)
    rounds(functions(), 2)
    first = inode()
    _core.stop()
    check_trace(path, 2)
    assert inode() == first


@pytest.mark.parametrize("what", ["two names", "moved away", "a damaged journal"])
def test_a_trace_that_cannot_be_written_anew_stays(recorded, what):
    """A second name, another file in its place, a journal that is not what was written: the old file gets its end."""
    path = recorded(journal=True)
    rounds(functions(), 200)
    if what == "two names":
        os.link(path, path.with_name("other"))
    elif what == "moved away":
        path = path.rename(path.with_name("other"))
    else:
        data = path.read_bytes()
        at = data.index(b"JRNL") + 8  # the first byte of the payload
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes([data[at] ^ 1]))
    _core.stop()
    assert set(calls(path).values()) == {200}
    assert "cut-short" not in [row.kind for row in read(path).losses]
    assert bool(read(path).calls.window().problems) == (what == "a damaged journal")


def test_a_full_disk_at_the_end_of_a_trace(path):
    """The new file does not fit: the old one gets its end, or says that it lacks it, and nothing else is left."""
    program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
names = {}
for i in range(300):
    exec(f"def f{i}(): pass", names)
start(fd=file(sys.argv[1]), flush_ms=1_000_000, journal=True)
for _ in range(100):
    for i in range(300):
        names[f"f{i}"]()
    _core.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
_core.stop()
"""
    run(program, str(path))
    recording = read(path)
    assert {row.calls for _, row in of_functions(recording, recording.tree)} <= {99, 100}
    assert os.listdir(path.parent) == [path.name]
