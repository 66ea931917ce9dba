"""The tables and columns of a recording, as native/file/tables.h declares them.

tests/pure compares both. The position of a column is its number in the file, and that of a table its number.
"""

from __future__ import annotations

INT, COUNT, STR, REAL = "i", "", "s", "d"  # kinds, as the columns below have them after a colon

_TIMES = "sampled sampled_ns sampled_sq:d awaits await_ns wait_ns wait_sq:d ready_ns lock_ns"
_COLUMNS = f"""
processes id pid:i ppid:i host:s argv:s interpreter:s start_ns:i end_ns:i exit:s clock:s source:s python_inside:d\
 python_outside:d c_inside:d c_outside:d resume_inside:d resume_outside:d piece_ns:d clock_ns:d cost_error:d waits:s\
 boot:s boot_ns unix_bound_ns deep_ns:d time_bound_ns stop_ns
threads id process native_id:i name:s start_ns:i end_ns:i wall_ns:i cpu_ns:i main:i rest_ns folded
functions id kind module:s qualname:s file:s line:i flags code_bytes
nodes id parent:i thread function calls resumes exceptions flags entered timed timed_ns {_TIMES}\
 compared_ns beside_ns own_sq:d shared_ns:d
losses id kind:s count thread:i detail:s
lines id function line:i hits flags inner_ns:d inner_var:d {_TIMES}
arcs id function from_line:i to_line:i hits flags
branches id function offset kind line:i column:i end_line:i end_column:i fell jumped flags
contexts id name:s
context_hits id context kind base bits:i
instructions id function offset line:i text:s hits
sources id file:s path:s size:i mtime_ns:i crc:i
types id module:s name:s flags size item_size born died died_by_gc live peak before unseen resurrected item_bytes
objects id type function:i line:i node:i flags born died died_by_gc live peak unseen item_bytes span_born span_died\
 span_live
lifetimes id object unit bucket count
object_times id time_ns:i born died
object_spans id function:i first calls start_ns:i end_ns:i born died live process
object_survivors id span object count
holders id object parent:i flags count asked holder:s by:s
marks id name:s time_ns:i born process
"""
TABLES = {
    table: {name: kind for name, _, kind in (word.partition(":") for word in columns)}
    for table, *columns in map(str.split, _COLUMNS.strip().split("\n"))
}
"""For each table, the kind of each column."""


def schema() -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each table with their formats: 'q' integer, 's' index of a string, 'd' float64."""
    formats = {INT: "q", COUNT: "q", STR: STR, REAL: REAL}
    return {table: [(name, formats[kind]) for name, kind in columns.items()] for table, columns in TABLES.items()}
