"""Call sites that were switched off (c_functions="auto"): what can be missing is marked, the rest is not, and the next
recording knows them again."""

import pytest
from lab import counts_looks, needs_monitoring, run

pytestmark = needs_monitoring

# The clock is simulated, so that a C function is trivial however busy the machine is.
SITES = """
from recorded import LOWER_BOUND, C, Image
def auto(**options):
    start(c_functions="auto", clock="simulated", **options)
def bounds(recorded, name):
    "Of each path of this name: its caller and whether it is a lower bound."
    nodes = [node for root in recorded.forests()["MainThread"] for node in root.walk()]
    return sorted((node.name, bool(child.flags & LOWER_BOUND)) for node in nodes for child in node.children
                  if child.name == name)
def measure(text):
    return len(text)
def often(): # until the place in measure is off
    for _ in range(2000): measure("abc")
def early():
    measure("abc")
"""


def sites(program, *arguments):
    return run(SITES + program, *arguments)


def test_places_that_call_types():
    """They have nothing to tell: what the type calls is told of itself, and counted exactly."""
    out = sites("""
class Thing:
    def __init__(self, n): self.n = abs(n)
def make():
    for i in range(2000): Thing(i), str(i)
auto()
make()
_core.stop()
recorded = image()
print(recorded.calls()["Thing.__init__"], recorded.losses["sites-off"], recorded.calls(C)["abs"] < 2000)
""")
    assert out == "2000 3 True\n"


def test_every_recording_knows_its_callees():
    """Also one after a recording of another kind, and that of a forked child."""
    out = sites("""
def told():
    recorded = image()
    print(recorded.calls()["measure"], 8 <= recorded.calls(C)["len"] < 2000, bounds(recorded, "len"), recorded.losses,
          flush=True)
for _ in range(2):
    auto()
    often()
    _core.stop()
    told()
start(c_functions="all", clock="simulated")
often()
_core.stop()
told()
auto()
often()
child = os.fork()
if child == 0:
    _core.after_fork(-1, "{}")
    often()
_core.stop()
if child != 0: os.waitpid(child, 0)
told()
""")
    known = "2000 True [('measure', True)] {'sites-off': 2}\n"  # and often's calls of measure
    assert out == known * 2 + "2000 False [('measure', False)] {}\n" + known * 2


def test_only_calls_that_can_be_missing_are_marked():
    """Not those from elsewhere, not those of other functions, not on a path that was not taken again."""
    out = sites("""
def elsewhere():
    return len("abc"), abs(-1)
auto()
early()
elsewhere()
often()
elsewhere()
_core.stop()
recorded = image()
print(bounds(recorded, "abs"))
paths = {}
for root in recorded.forests()["MainThread"]:
    for child in root.walk():
        paths.update({(root.name, node.name): (node.calls, node.flags) for node in child.walk()})
print(paths["elsewhere", "len"], paths["early", "len"], paths["often", "len"][1])
""")
    assert out == "[('elsewhere', False)]\n(2, 0) (1, 0) 1\n"


def test_a_path_that_is_taken_again_is_marked():
    out = sites("""
auto()
early()
often()
early()
_core.stop()
print(bounds(image(), "len"), image().calls()["measure"])
""")
    assert out == "[('measure', True), ('measure', True)] 2002\n"


def test_a_path_that_was_running_is_marked():
    """Its caller goes on after the place was switched off, without being entered again."""
    out = sites("""
def loop(n, inner):
    for i in range(n):
        len("abc")
        if i == 0 and inner: inner()
auto()
loop(3, lambda: loop(2000, None))
_core.stop()
recorded = image()
print(bounds(recorded, "len"), recorded.losses)
""")
    assert out == "[('loop', True), ('loop', True)] {'sites-off': 1}\n"


def test_marks_reach_a_file_that_had_the_row_before(path):
    """A row is written again when its count becomes a lower bound, though nothing in it has changed."""
    out = sites("""
auto(fd=file(sys.argv[1]))
early()
_core.flush()
often()
_core.flush()
early()
_core.stop()
with open(sys.argv[1], "rb") as written:
    print(bounds(Image(written.read()), "len"))
""", str(path))  # fmt: skip
    assert out == "[('measure', True), ('measure', True)]\n"


def test_calls_of_python_functions_leave_c_functions_exact():
    out = sites("""
def both(i):
    leaf()
    if i % 100 == 0: abs(i)
auto()
for i in range(2000): both(i)
_core.stop()
recorded = image()
print(recorded.calls()["leaf"], recorded.calls(C)["abs"], bounds(recorded, "abs"), recorded.losses)
""")
    assert out == "2000 20 [('both', False)] {'sites-off': 2}\n"


def test_left_out_callers_mark_what_they_call():
    """What a function that where= leaves out calls counts for the caller that is kept, and so do its places."""
    out = sites("""
import seismo
with seismo.profile(c_functions="auto", where='c_call or function("often")') as p:
    often()
rows = {row.qualname: (row.calls < 2000) == bool(row.lower_bound) for row in p.recording.functions}
print(rows.get("len"), "measure" in rows)
""")
    assert out == "True False\n"


def test_the_next_holder_of_the_tool_id_hears_of_every_place():
    out = sites("""
auto()
ours = next(i for i in range(6) if sys.monitoring.get_tool(i) == "seismo")
often()
_core.stop()
events = sys.monitoring.events
heard = []
sys.monitoring.use_tool_id(ours, "another")
sys.monitoring.register_callback(ours, events.CALL, lambda code, offset, callee, arg: heard.append(callee))
sys.monitoring.set_events(ours, events.CALL)
early()
sys.monitoring.set_events(ours, 0)
print(len in heard)
""")
    assert out == "True\n"


def test_other_tools_places_stay_off():
    """Nothing is restarted for our sake."""
    out = sites("""
events = sys.monitoring.events
heard = []
def once(code, line):
    heard.append(line)
    return sys.monitoring.DISABLE
sys.monitoring.use_tool_id(0, "another")
sys.monitoring.register_callback(0, events.LINE, once)
sys.monitoring.set_local_events(0, measure.__code__, events.LINE)
for _ in range(2):
    auto()
    often()
    _core.stop()
print(len(heard))
""")
    assert out == "1\n"


def test_new_code_does_not_inherit_what_is_known_of_the_dead():
    """Code that is made again and again has the addresses of its like that died, and each calls a place a few times."""
    out = run("""
def once():
    space = {}
    exec("def f():\\n    " + "len('abc'); " * 5, space)
    for _ in range(8): space["f"]()
start(c_functions="auto", clock="simulated")
for _ in range(2000): once()
room = _core.status()["sites_room"]
for _ in range(14_000): once()
print(room, _core.status()["sites_room"] <= 4 * room)
_core.stop()
recorded = image()
print(recorded.losses.get("sites-off", 0) < 10, recorded.calls()["f"]) # those of once() itself
""")
    first, second = out.splitlines()
    assert first.endswith("True")
    assert second == "True 128000"


def test_a_place_that_long_called_a_slow_c_function_tells_of_it_again():
    """What it calls in between has nothing to tell: that the C function's calls can be missing would not be marked."""
    out = sites("""
def python(times, key):
    return times
def take_turns():
    for call in [max] * 700 + [python] * 700 + [max] * 20:
        call((10_000,), key=_core._advance_clock)
auto()
take_turns()
_core.stop()
recorded = image()
print(recorded.calls()["python"], recorded.calls(C)["max"], bounds(recorded, "max"))
""")
    assert out == "700 720 [('take_turns', False)]\n"


@counts_looks
@pytest.mark.parametrize("timing", ["none", "sampled"])
def test_places_of_which_nothing_is_to_be_learnt_are_seldom_looked_at(timing):
    """A program that calls C functions at places that go on telling pays for few looks at them; a place that calls a
    Python function is found among them all the same."""
    out = sites(f"""
def places(turns):
    for i in range(turns):
        for function in (len, repr, len): function("abc")
auto(timing={timing!r})
places(500)
before = _core._looks()
places(20_000)
print((_core._looks() - before) / 60_000 < 0.1) # one in 64, with what else stands where the code object would
for _ in range(60_000): measure("abc") if _ % 10 == 0 else len("abc")
_core.stop()
print(image().losses["sites-off"] >= 1, image().calls()["measure"])
""")
    assert out == "True\nTrue 6000\n"
