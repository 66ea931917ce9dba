"""The command line: one module per verb, found and run by seismo.cli.main, beside modules that verbs share."""
