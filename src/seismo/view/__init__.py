"""`seismo view`: a local server that shows recordings in a browser, including traces of any size.

`server` is the HTTP transport with its access control. `routes` reads recordings and makes the answers, independent of
HTTP. `trace_ranges` sums up a part of a trace and finds calls in it.
"""
