"""Births and deaths of objects in the recorded process: the recorder, and the search for holders of survivors."""
