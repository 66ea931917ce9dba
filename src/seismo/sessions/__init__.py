"""Recording from inside a program: one class per verb, on a common base."""
