"""The output of `seismo watch` and `seismo.watch` for events that match: values, text, JSON lines, recordings."""
