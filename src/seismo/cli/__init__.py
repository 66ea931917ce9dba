"""The command line: one file a verb, found and run by seismo.cli.main.

What verbs share:

options      what an option is, those that several verbs have, how values are read
parsing      the words and the help of verbs that argparse reads
verb         a verb that runs a program: its words, up to the program's
running      the program's run
recording    a verb that records the program, and the recording
files        the recordings that a verb is given
pages        the pages that a verb writes
failures     what goes wrong, in plain lines
"""
