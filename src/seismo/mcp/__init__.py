"""A server of the Model Context Protocol that answers questions about recordings, on standard input and output."""
