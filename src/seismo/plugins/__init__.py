"""Plugins for other programs: pytest, IPython, and clusters. Nothing is imported here; each host loads its plugin."""
