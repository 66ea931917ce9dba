"""The terminal report, the summary after a recording, and the comparison of two recordings.

Nothing is imported here: the summary runs in the recorded process and must not load what only the terminal report
needs.
"""
