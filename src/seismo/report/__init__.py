"""What people read: the terminal report, the summary after a recording, the comparison of two recordings.

Nothing is imported here: the summary runs in the recorded process and must not pull in what the terminal report needs.
"""
