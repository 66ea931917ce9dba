"""What people read of a recording of calls."""
