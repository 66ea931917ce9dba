"""The command line: one module per verb, found and run by seismo.cli.main.

Shared by verbs:

    options      options: definition, those of several verbs, reading of values
    parsing      the words and the help of verbs that use argparse
    verb         verbs that run a program: their words, up to the program's
    running      running of the program
    recording    verbs that record the program, and the recording
    files        the recordings given to a verb
    pages        the pages that a verb writes
    failures     errors as plain lines and exit statuses
"""
