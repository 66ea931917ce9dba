"""The tables about lines and the times of lines."""
