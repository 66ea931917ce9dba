"""A trace's journal: every call with its times, read by windows."""
