"""The reading half of the native core in plain Python, for platforms without it. `seismo._core` loads it there.

The functions take and return what those of the core do. tests/pure compares both.
"""
