# seismo's C API for Cython: cimport seismo, with seismo.get_include() among the include folders. See docs/c-api.md.
from cpython.ref cimport PyObject
from libc.stdint cimport uint16_t, uint32_t, uint64_t

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    ctypedef struct PyThreadState:
        pass
    ctypedef struct PyCodeObject:
        pass
    ctypedef int (*Py_tracefunc)(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) except -1
    PyThreadState *PyThreadState_Get()
    int PyTrace_CALL, PyTrace_EXCEPTION, PyTrace_LINE, PyTrace_RETURN
    int PyTrace_C_CALL, PyTrace_C_EXCEPTION, PyTrace_C_RETURN, PyTrace_OPCODE

cdef extern from "seismo.h":
    int SEISMO_PROFILE, SEISMO_TRACE, SEISMO_REF_TRACER
    int SEISMO_REF_CREATE, SEISMO_REF_DESTROY, SEISMO_REF_REMOVED
    ctypedef int (*seismo_ref_tracer)(PyObject *object, int event, void *data) noexcept
    ctypedef struct seismo_api:
        uint32_t size
        uint16_t major, minor
        uint64_t (*set_profile)(Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where) except 0
        uint64_t (*set_trace)(Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where) except 0
        uint64_t (*set_ref_tracer)(
            seismo_ref_tracer func, void *data, PyThreadState *tstate, void (*release)(void *data) noexcept
        ) except 0
        int (*remove)(uint64_t hook) noexcept
        int (*is_active)(uint64_t hook) noexcept
        int (*trace_opcodes)(uint64_t hook, PyCodeObject *code, int on) except -1
        uint32_t (*count)(int kind) noexcept
        const char *(*backend)(int kind) noexcept
    const seismo_api *seismo
    int seismo_import() except -1
