"""What people read of a recording of lines' times."""
