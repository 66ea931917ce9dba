"""The slots of 3.11 for profile and trace functions, for tests that set them like other tools."""

from __future__ import annotations

import ctypes

TRACEFUNC = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class State(ctypes.Structure):
    """The head of PyThreadState."""

    _fields_ = [
        ("links", ctypes.c_void_p * 3),
        ("numbers", ctypes.c_int * 7),
        ("cframe", ctypes.c_void_p),
        ("profile", ctypes.c_void_p),
        ("trace", ctypes.c_void_p),
        ("profile_object", ctypes.c_void_p),
    ]

    @staticmethod
    def get() -> State:
        """Return the state of the running thread."""
        ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
        return State.from_address(ctypes.pythonapi.PyThreadState_Get())
