# cython: language_level=3
"""Counts the lines that run while work() runs, in this thread: the C API from Cython."""
from cpython.ref cimport PyObject

cimport seismo as api

api.seismo_import()


cdef int on_event(PyObject *obj, api.PyFrameObject *frame, int what, PyObject *arg) except -1:
    if what == api.PyTrace_LINE:
        (<list>obj)[0] += 1
    return 0


def lines(work, where=None):
    """The number of lines that run in work() in what `where` chooses."""
    counts = [0]
    text = where.encode() if where is not None else None
    cdef const char *chosen = NULL
    if text is not None:
        chosen = text
    hook = api.seismo.set_trace(on_event, <PyObject *>counts, api.PyThreadState_Get(), chosen)
    try:
        work()
    finally:
        api.seismo.remove(hook)
    return counts[0]
