"""What people read of a recording of births and deaths of objects."""
