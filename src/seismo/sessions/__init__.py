"""Recording from inside: one class a verb, on one base."""
