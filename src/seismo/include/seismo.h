/* seismo's C API: the interpreter's hooks for any number of callbacks at once, from C, C++, Cython and Rust.
 *
 *     #include <seismo.h>                          the folder is seismo.get_include()
 *
 *     if (seismo_import() < 0) return NULL;        once, in the module's init
 *     uint64_t hook = seismo->set_profile(func, obj, NULL, "module(\"app.*\")");
 *     ...
 *     seismo->remove(hook);
 *
 * Nothing is linked: seismo_import() finds the installed seismo at run time and holds versions against each other. Every
 * function is called with the GIL, from any thread of the main interpreter. See docs/c-api.md. */
#ifndef SEISMO_H
#define SEISMO_H

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major number changes when something here changes its meaning: build anew. The minor one grows with the struct. */
#define SEISMO_API_MAJOR 1
#define SEISMO_API_MINOR 0
#define SEISMO_CAPSULE "seismo._core._C_API"

/* Kinds of hooks, for count() and backend(). */
#define SEISMO_PROFILE 0
#define SEISMO_TRACE 1
#define SEISMO_REF_TRACER 2

/* Events of a reference tracer: those of PyRefTracer, on every version that has one. */
#define SEISMO_REF_CREATE 0
#define SEISMO_REF_DESTROY 1
#define SEISMO_REF_REMOVED 2 /* object is NULL */

typedef int (*seismo_ref_tracer)(PyObject *object, int event, void *data);

typedef struct {
    uint32_t size; /* of the struct that the installed seismo has, in bytes */
    uint16_t major, minor;

    /* Call func(obj, frame, what, arg) for the events of PyEval_SetProfile: PyTrace_CALL, RETURN, C_CALL, C_RETURN,
     * C_EXCEPTION. tstate: for this thread only; NULL: for all, running and future. where: only for events that this
     * expression matches (docs/expressions.md); NULL: for all. A reference to obj is held until no call can come any
     * more; it may be NULL. The result names the hook; 0 with an exception: it could not be set. */
    uint64_t (*set_profile)(Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where);

    /* The same for the events of PyEval_SetTrace: PyTrace_CALL, LINE, RETURN, EXCEPTION and, where asked for, OPCODE. */
    uint64_t (*set_trace)(Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where);

    /* Call func(object, event, data) for each object made or destroyed (Python 3.13.3 or later). release(data), if it is
     * not NULL, is called when no call can come any more; not if this fails. */
    uint64_t (*set_ref_tracer)(seismo_ref_tracer func, void *data, PyThreadState *tstate, void (*release)(void *data));

    /* No call begins after this. 1: it was set; 0: it was not, any more. From anywhere, the callback included. Never
     * fails, and leaves a pending exception alone. */
    int (*remove)(uint64_t hook);

    int (*is_active)(uint64_t hook); /* 1 or 0 */

    /* A trace hook's PyTrace_OPCODE in this code object, on or off. What setting f_trace_opcodes of a frame inside the
     * callback does, too. 0, or -1 with an exception. */
    int (*trace_opcodes)(uint64_t hook, PyCodeObject *code, int on);

    uint32_t (*count)(int kind); /* hooks that are set through this API */

    /* What the events of this kind come from ("monitoring", "slots", "PyRefTracer"); NULL: this interpreter has none. */
    const char *(*backend)(int kind);
} seismo_api;

static const seismo_api *seismo; /* NULL until seismo_import() */

/* 0, or -1 with ImportError: no seismo, or one whose API is not the one this was compiled with. Costs nothing the second
 * time. */
static inline int seismo_import(void) {
    PyObject *module, *capsule;
    const seismo_api *found;
    if (seismo != NULL)
        return 0;
    module = PyImport_ImportModule("seismo._core");
    if (module == NULL)
        return -1;
    capsule = PyObject_GetAttrString(module, "_C_API");
    Py_DECREF(module);
    if (capsule == NULL) {
        PyErr_SetString(PyExc_ImportError, "the installed seismo has no C API: install a newer one");
        return -1;
    }
    found = (const seismo_api *)PyCapsule_GetPointer(capsule, SEISMO_CAPSULE);
    Py_DECREF(capsule); /* the module holds it, and the struct is static */
    if (found == NULL) {
        PyErr_SetString(PyExc_ImportError, "seismo._core._C_API is not seismo's C API");
        return -1;
    }
    if (found->major != SEISMO_API_MAJOR) {
        PyErr_Format(PyExc_ImportError,
                     "this extension was built for version %d of seismo's C API, the installed seismo has version %d: %s",
                     SEISMO_API_MAJOR, (int)found->major,
                     found->major < SEISMO_API_MAJOR ? "install a newer seismo" : "build the extension anew");
        return -1;
    }
    if (found->size < sizeof(seismo_api)) {
        PyErr_Format(PyExc_ImportError,
                     "this extension was built for seismo's C API %d.%d, the installed seismo has %d.%d: install a newer "
                     "seismo",
                     SEISMO_API_MAJOR, SEISMO_API_MINOR, (int)found->major, (int)found->minor);
        return -1;
    }
    seismo = found;
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
