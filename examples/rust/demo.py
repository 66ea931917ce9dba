"""Counts the calls of a function in Rust: python demo.py LIBRARY."""

import ctypes
import sys

from seismo import _core

library = ctypes.PyDLL(sys.argv[1])  # PyDLL: called with the GIL, and a Python exception that it leaves is raised
library.counter_start.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
library.counter_start.restype = ctypes.c_uint64
library.counter_stop.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
library.counter_stop.restype = ctypes.c_uint64

pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
pointer.restype = ctypes.c_void_p
api = pointer(_core._C_API, b"seismo._core._C_API")


def leaf():
    """Is called."""


hook = library.counter_start(api, b'function("leaf")')
for _ in range(1000):
    leaf()
print(library.counter_stop(api, hook), "calls")
