"""Trees from call graphs."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.formats.call_graph import SPREAD, Cost, Graph, into_tree
from seismo.formats.function_names import Frame
from seismo.model import Builder


def build(graph):
    b = Builder()
    thread = b.thread(b.process())
    count = 1 + max(graph.functions)
    into_tree(graph, [Frame(0, "", str(place), "f.py", place) for place in range(count)], b, thread)
    return b.build()


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(0, 6), st.tuples(*[st.integers(0, 10**6)] * 3), min_size=1),
    st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.tuples(*[st.integers(0, 10**6)] * 3)),
)
def test_any_graph_becomes_a_tree_that_keeps_calls_and_own_times(functions, edges):
    """Also graphs that contradict themselves, as damaged files have them."""
    functions = dict.fromkeys(itertools.chain(*edges), (0, 0, 0)) | functions
    graph = Graph(
        {key: Cost(calls, calls, own, own + below) for key, (calls, own, below) in functions.items()},
        {key: Cost(calls, calls, own, own + below) for key, (calls, own, below) in edges.items()},
    )
    rows = {row.line: row for row in build(graph).functions}
    for key, (calls, own, _) in functions.items():
        assert (rows[key].calls, rows[key].own_ns) == (calls, own)


def test_a_tree_stays_small_where_paths_are_many():
    """A ladder of diamonds: 2 ** 40 paths."""
    graph = Graph()
    for level in range(40):
        for key in (3 * level, 3 * level + 1, 3 * level + 2):
            graph.functions[key] = Cost(2**20, 2**20, 1000, (40 - level) * 3000)
        top, left, right = range(3 * level, 3 * level + 3)
        graph.edges[top, left] = graph.edges[top, right] = Cost(2**20, 2**20, 1000, (40 - level) * 1500)
        if level < 39:
            graph.edges[left, top + 3] = Cost(2**19, 2**19, 500, (39 - level) * 1500)
            graph.edges[right, top + 3] = Cost(2**19, 2**19, 500, (39 - level) * 1500)
    edges = len(graph.edges)
    recording = build(graph)
    assert len(recording.tree) <= SPREAD * (edges + 1)
    assert all(row.calls == 2**20 and row.own_ns == 1000 for row in recording.functions)
