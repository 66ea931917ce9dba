"""`seismo view`: a local server that shows recordings in a browser, a trace of any size included.

`server` is the transport: who may ask, and how an answer is sent. `answers` is what is answered: it reads recordings
and knows nothing of HTTP. `ranges` adds up a stretch of a trace, and finds calls in it. `shell` is the page around it.
"""
