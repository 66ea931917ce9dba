"""The making of recordings: sessions in a program, whole programs, and the processes that they start."""
