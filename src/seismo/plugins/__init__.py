"""Plugins for other programs: pytest and IPython. Nothing is imported here; each host loads its plugin."""
