"""Programs that a trace finds hard: they print what they print without it, and the journal agrees with the tree."""

import textwrap

import children
import control_flow
import pytest

PROGRAMS = {
    **{name: control_flow.PROGRAMS[name][0] for name in ("asyncio", "exceptions", "greenlets")},
    "forked in the middle of a call": """
        import os
        def leaf(n): return n + 1
        def middle(n):
            child = os.fork()
            n = leaf(n)
            if child:
                os.waitpid(child, 0)
            return n, child
        def outer():
            n, child = middle(1)
            for _ in range(500): n = leaf(n)
            if child == 0:
                os._exit(0)
            return n
        print(outer())
    """,
    "functions without end": """
        total = 0
        for i in range(3000):
            names = {}
            exec(f"def f{i}(n): return n + {i}", names)
            total = names[f"f{i}"](total)
        print(total)
    """,
    "three hundred children of one call": """
        names = {}
        for i in range(300): exec(f"def f{i}(n): return n + {i}", names)
        functions = [names[f"f{i}"] for i in range(300)]
        def parent(n):
            for function in functions: n = function(n)
            return n
        print(sum(parent(n) for n in range(200)))
    """,
    "pools of processes and threads": """
        import concurrent.futures, multiprocessing, sys
        def square(n): return n * n
        if __name__ == "__main__":
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                print(sum(pool.map(square, range(500))))
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(sum(pool.map(square, range(500))))
    """,
    "a collection in every call": """
        import gc, weakref
        class Node: pass
        def make(n):
            node = Node()
            node.me = node
            weakref.finalize(node, died.append, n)
            del node
            gc.collect(0)
        died = []
        for n in range(200): make(n)
        gc.collect()
        print(sum(died), len(gc.callbacks), gc.garbage)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_as_without_and_the_journal_is_right(tmp_path, name):
    if name == "greenlets":
        pytest.importorskip("greenlet")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAMS[name]))
    bare = children.python(program, cwd=tmp_path)
    traced = children.seismo("trace", "-q", "--children", "-o", "x.seismo", program, cwd=tmp_path)
    assert (traced.stdout, traced.stderr) == (bare.stdout, bare.stderr)
    assert "agrees with the tree" in children.seismo("info", "--verify", "x.seismo", cwd=tmp_path).stdout


def test_traces_that_do_not_belong_together_are_one_recording_all_the_same(tmp_path):
    for name in ("forked in the middle of a call", "functions without end"):
        (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAMS[name]))
        children.seismo("trace", "-q", "-o", f"{len(name)}.seismo", "program.py", cwd=tmp_path)
    parts = sorted(path.name for path in tmp_path.glob("*.seismo"))
    assert len(parts) == 3
    children.seismo("merge", "-o", "all.seismo", *parts, cwd=tmp_path)
    assert "agrees" in children.seismo("info", "--verify", "all.seismo", cwd=tmp_path).stdout
    assert "Longest calls" in children.seismo("report", "all.seismo", cwd=tmp_path).stdout
