"""Making recordings: sessions in a program, whole programs, and the processes they start."""
