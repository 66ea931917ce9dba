"""What `seismo watch` and `seismo.watch` show of events that match: values, text, JSON lines, recordings."""
