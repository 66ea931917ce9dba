"""A trace's journal: every call in time, read by windows."""
