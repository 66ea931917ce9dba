"""The command line: one file a verb, found and run by seismo.cli.main."""
