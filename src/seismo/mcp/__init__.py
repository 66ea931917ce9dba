"""Answers about recordings for agents: a server of the Model Context Protocol, on standard input and output."""
