"""Performance tests without flakiness: the actions of a program are counted, stored and compared with earlier counts.

A `Measurement` has counts for each function and each test: calls, executed lines, exceptions, objects born, bytes.
`baseline` writes and reads it as a text file. `compare` checks two of them against limits such as `calls("app.*") <=
+1%`.

Counts are exact if the program does the same in each run. Otherwise `over_runs` combines several runs to ranges, and
`compare` only decides what the ranges allow.
"""
