"""Guests in other programs: pytest and IPython. Nothing is imported here; each plugin is loaded by its host."""
