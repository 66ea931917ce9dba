"""Births and deaths of objects in the recorded process: the recorder, and who holds what lives on."""
