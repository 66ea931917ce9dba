"""Coverage: recordings of lines and branches, compared with the source."""
