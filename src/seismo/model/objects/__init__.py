"""The tables about births and deaths of objects, and what they add up to."""
