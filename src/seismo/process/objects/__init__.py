"""Births and deaths of objects in the recorded process: the recorder's life, and who holds what lives on."""
