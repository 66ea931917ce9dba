"""The tables about births and deaths of objects, and their summaries."""
