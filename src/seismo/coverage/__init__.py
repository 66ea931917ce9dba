"""What of a program's source was executed: recordings of lines and branches, held against the source."""
