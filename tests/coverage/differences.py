"""Where seismo and coverage.py differ about source, each with a snippet that shows it and the reason."""

# A `with` whose suite the compiler makes nothing of: coverage.py stops with an assertion that failed.
EMPTY_WITH = "def f():\n    global x\n    with a:\n        global y\n    return x\n"

# A form feed before an indent begins the line anew for Python. coverage.py takes it for a space of the indent, and says
# that the source cannot be parsed.
FORM_FEED = "a = 1\n\x0cb = 2\n"

# A long chain of elif: coverage.py visits it recursively and meets Python's limit.
LONG_CHAIN = "if a == 0:\n    b = 0\n" + "".join(f"elif a == {i}:\n    b = {i}\n" for i in range(1, 400))

# Each with the statements and the lines of branches that it has.
SOURCES = {
    "a with of nothing": (EMPTY_WITH, {1, 3, 5}, set()),
    "a form feed": (FORM_FEED, {1, 2}, set()),
    "a long chain of elif": (LONG_CHAIN, set(range(1, 801)), set(range(1, 801, 2))),
}

# An exception that leaves a `with` and the function: up to 3.13 the way out is the `with` statement's, for
# coverage.py and for seismo. 3.14 tells trace functions that the frame is left from the line that raised, and so
# coverage.py takes that line's way out for taken.
UNTIL_3_13 = {"withs"}
