"""What a reader sees first: the cause of each slow program, within twelve lines of eighty columns."""

import re

import children
import pytest

SLOW_C_CALL = """
import json, zlib
def render(number):
    rows = [{"id": number * 1000 + at, "name": f"item {at}", "tags": ["a", "b", str(at)]} for at in range(300)]
    return json.dumps(rows).encode()
def respond(number):
    return zlib.compress(render(number) * 12, 9)
print(sum(len(respond(number)) for number in range(40)))
"""
SLEEP_IN_HANDLER = """
import json, time
def fetch_profile(user):
    time.sleep(0.012)
    return {"user": user, "name": f"user {user}"}
def handle(user):
    return json.dumps({"profile": fetch_profile(user), "menu": list(range(300))})
for user in range(20):
    handle(user)
"""
LOCK = """
import threading, time
lock = threading.Lock()
def write_report():
    with lock:
        time.sleep(0.03)
def update(total):
    for number in range(2000):
        total += number * number
    with lock:
        return total
def reporter():
    for _ in range(10):
        write_report()
def worker():
    total = 0
    for _ in range(10):
        total = update(total)
threads = [threading.Thread(target=target) for target in (reporter, worker, worker, worker)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
IMPORTS = """
import argparse, asyncio, sys, unittest.mock
def parse(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="world")
    return parser.parse_args(words)
print(f"hello {parse([]).name}", len(sys.argv))
"""
RECURSION = """
def ways(steps):
    return 1 if steps < 2 else ways(steps - 1) + ways(steps - 2)
def table(rows):
    return [f"{row:4} {ways(row)}" for row in range(rows)]
print(len(table(21)))
"""
COLLECTOR = """
import gc
class Node:
    def __init__(self, number):
        self.number = number
        self.me = self
def load(batch):
    nodes = [Node(batch * 100 + at) for at in range(100)]
    gc.collect()
    return nodes
kept = [load(batch) for batch in range(60)]
print(sum(node.number for nodes in kept for node in nodes))
"""
DEBUG_LOGGING = """
import io, logging
log = logging.getLogger("job")
logging.basicConfig(stream=io.StringIO(), level=logging.DEBUG, format="%(asctime)s %(name)s %(message)s")
def convert(record):
    value = record * 3 + 1
    log.debug("record %d became %d", record, value)
    return value
print(sum(convert(record) for record in range(4000)))
"""


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        pytest.param(SLOW_C_CALL, r"zlib:compress|__main__:respond", id="slow C call"),
        pytest.param(SLEEP_IN_HANDLER, r"__main__:fetch_profile", id="sleep in handler"),
        pytest.param(LOCK, r"__main__:write_report", id="lock"),
        pytest.param(IMPORTS, r"import (asyncio|unittest)", id="imports"),
        pytest.param(RECURSION, r"__main__:ways", id="recursion"),
        pytest.param(COLLECTOR, r"__main__:load|gc:collect", id="collector"),
        pytest.param(DEBUG_LOGGING, r"logging:Logger\.debug", id="debug logging"),
    ],
)
def test_the_cause_is_among_the_first_lines(program, cause, tmp_path):
    (tmp_path / "it.py").write_text(program)
    children.python("it.py", cwd=tmp_path)  # where the disk is slow, the first run mostly waits for its modules
    children.seismo("profile", "-q", "-o", "it.seismo", "it.py", cwd=tmp_path)
    lines = children.seismo("report", "it.seismo", cwd=tmp_path, COLUMNS="80").stdout.splitlines()
    assert re.search(r" took [\d.]+ (ms|s)", lines[0])
    assert any(line.startswith("Call tree by elapsed time") for line in lines[1:4])  # below what held threads up
    assert any(re.search(cause, line) for line in lines[:12]), "\n".join(lines[:30])
