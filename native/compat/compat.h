/* The only place that names a Python version. What a version lacks is given here in the same shape, so that callers
 * need no #if of their own. */
#ifndef SM_COMPAT_COMPAT_H
#define SM_COMPAT_COMPAT_H

#include <Python.h>
#include <frameobject.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* PYVERSIONS: 3.11 to 3.15 */
#if PY_VERSION_HEX < 0x030B0000
#error "seismo needs Python 3.11 or newer"
#endif

#if PY_VERSION_HEX >= 0x030C0000
#define SM_HAS_MONITORING 1
#define SM_HAS_EVALFRAME 0 /* monitoring is better wherever it exists: see docs/hooks.md */
#define SM_SHARES_SLOTS 0  /* nor does anything but the profilefunc source need the profile and trace slots */
#else
#define SM_HAS_MONITORING 0
#define SM_HAS_EVALFRAME 1
#define SM_SHARES_SLOTS 1
#endif

/* Can sys.monitoring's events of exceptions be set on single code objects? */
#define SM_LOCAL_EXCEPTION_EVENTS (PY_VERSION_HEX >= 0x030F0000)

/* Do the two ways of a branch have an event each, to be switched off by itself? */
#define SM_BRANCH_HAS_SIDES (PY_VERSION_HEX >= 0x030E0000)

/* Does CALL report a bound method of a C function as the method, though C_RETURN comes for the function behind it? */
#define SM_CALL_REPORTS_METHODS (PY_VERSION_HEX < 0x030E0000)

#ifdef Py_GIL_DISABLED
#define SM_FREE_THREADED 1
#else
#define SM_FREE_THREADED 0
#endif

/* The interpreter's data stack chunk that a thread uses: it changes when the stack grows or shrinks past a chunk, and
 * when a greenlet switch exchanges the whole stack. Public fields of PyThreadState since 3.11. */
typedef _PyStackChunk sm_chunk;

static inline sm_chunk *sm_tstate_chunk(PyThreadState *tstate) {
    return tstate->datastack_chunk;
}

/* An address that is the same at every suspension and resumption of one generator or coroutine, and its alone while it
 * lives: that of its interpreter frame. Valid in a callback of the running frame. */
static inline const void *sm_tstate_frame(PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030D0000
    return tstate->current_frame;
#else
    return tstate->cframe->current_frame;
#endif
}

/* The same from another thread, without the GIL: it may have ended meanwhile. */
static inline const void *sm_tstate_frame_racy(PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030D0000
    return __atomic_load_n((void **)&tstate->current_frame, __ATOMIC_RELAXED);
#else
    return __atomic_load_n((void **)&tstate->cframe->current_frame, __ATOMIC_RELAXED);
#endif
}

/* Can code that was compiled to C tell of its events itself (PyMonitoring_FirePyResumeEvent and others)? Not in debug
 * builds for what is done about it: they let no deallocator set an exception. */
#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_DEBUG)
#define SM_HAS_FIRED_EVENTS 1
#else
#define SM_HAS_FIRED_EVENTS 0
#endif

/* Is what ends a loop passed over where the interpreter looks for the beginnings of lines? See code/unreported_lines.h.
 */
#define SM_LOOP_ENDS_HIDE_LINES (PY_VERSION_HEX >= 0x030E0000)

/* Is a first line that stands in the def line only told alongside PY_START (gh-155992)? */
#define SM_FIRST_LINE_NEEDS_START (PY_VERSION_HEX >= 0x030D0000)

#if SM_HAS_MONITORING
/* A line number or an offset as sys.monitoring passes it. */
static inline int sm_int_of(PyObject *number) {
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return (int)PyUnstable_Long_CompactValue((PyLongObject *)number);
    return (int)PyLong_AsLong(number);
}
#endif

/* Sets the profile function of any thread, without the audit event and the races of PyEval_SetProfileAllThreads
 * (gh-137400). Exported by every version; declared in private headers since 3.13. */
#if PY_VERSION_HEX >= 0x030D0000
extern int _PyEval_SetProfile(PyThreadState *tstate, Py_tracefunc func, PyObject *arg);
#endif
static inline int sm_set_profile(PyThreadState *tstate, Py_tracefunc func) {
    return _PyEval_SetProfile(tstate, func, NULL);
}

#if SM_SHARES_SLOTS
/* After the fields of a profile or trace slot were written directly: the evaluation loop has a copy of whether there is
 * any such function. */
static inline void sm_tstate_tracing_changed(PyThreadState *tstate) {
    bool tracing = tstate->tracing == 0 && (tstate->c_profilefunc != NULL || tstate->c_tracefunc != NULL);
    tstate->cframe->use_tracing = tracing ? 255 : 0;
}
#endif

/* The one reference tracer of the process (3.13). Removal is reported from 3.15 on. What was built with 3.13.0 runs on
 * 3.13.3, too, so whether it can be trusted is asked at run time: NULL, or why not. */
#define SM_REFTRACER_REMOVED 2
#if PY_VERSION_HEX < 0x030D0000
typedef enum { PyRefTracer_CREATE, PyRefTracer_DESTROY } PyRefTracerEvent;
typedef int (*PyRefTracer)(PyObject *object, PyRefTracerEvent event, void *data);
static inline int PyRefTracer_SetTracer(PyRefTracer Py_UNUSED(tracer), void *Py_UNUSED(data)) {
    return -1;
}
static inline PyRefTracer PyRefTracer_GetTracer(void **data) {
    *data = NULL;
    return NULL;
}
#endif
static inline const char *sm_reftracer_objection(void) {
    if (SM_FREE_THREADED)
        return "reference tracing needs the ordinary build of Python, and this is a free-threaded one";
    if (Py_Version < 0x030D0000)
        return "reference tracing needs Python 3.13.3 or newer: earlier ones have no such hook";
    if (Py_Version < 0x030D03F0)
        return "reference tracing needs Python 3.13.3 or newer: 3.13.0 to 3.13.2 do not report most objects that are "
               "destroyed (gh-130382)";
    return NULL;
}
/* Are containers that the trashcan puts off destroyed without a word (gh-156371)? */
static inline bool sm_reftracer_trashcan(void) {
    return (Py_Version >= 0x030E0000 && Py_Version < 0x030E0800) ||
           (Py_Version >= 0x030F0000 && Py_Version < 0x030F0100);
}
/* Does whoever holds the tracer be told of its removal? Then it may give up what it hangs on, and cannot be chained. */
static inline int sm_reftracer_reports_removal(void) {
    return Py_Version >= 0x030F0000;
}

/* From a signal's handler on the main thread: have it look for pending calls before its next instruction. Up to 3.12 a
 * call that another thread has asked for is noticed when threads take turns. */
#if PY_VERSION_HEX < 0x030D0000
PyAPI_FUNC(void) _PyEval_SignalReceived(PyInterpreterState *interp);
#endif
static inline void sm_look_for_pending_calls(void) {
#if PY_VERSION_HEX < 0x030D0000
    _PyEval_SignalReceived(PyInterpreterState_Main());
#endif
}

/* The running thread's state, NULL without one. Its id is never used again, as its address may be. */
static inline PyThreadState *sm_tstate_unchecked(void) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}
/* Does the running thread hold the main interpreter's lock? Can be asked anywhere. */
static inline bool sm_holds_gil(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return sm_tstate_unchecked() != NULL;
#else /* there it is the state of whoever holds it */
    PyThreadState *mine = PyGILState_GetThisThreadState();
    return mine != NULL && mine == sm_tstate_unchecked();
#endif
}
static inline uint64_t sm_tstate_id(const PyThreadState *tstate) {
    return tstate->id;
}
static inline bool sm_tstate_pending(const PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030C0000
    return tstate->current_exception != NULL;
#else
    return tstate->curexc_type != NULL;
#endif
}
static inline PyInterpreterState *sm_tstate_interpreter(const PyThreadState *tstate) {
    return tstate->interp;
}

/* Leaves a thread without Python frames, as one that has called nothing yet, and returns those that it had: they are to
 * be given back from the same place in C, which runs the evaluation loop in between. */
static inline void *sm_tstate_take_frames(PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030F0000
    void *frames = tstate->current_frame;
    tstate->current_frame = tstate->base_frame;
#elif PY_VERSION_HEX >= 0x030D0000
    void *frames = tstate->current_frame;
    tstate->current_frame = NULL;
#else
    void *frames = tstate->cframe->current_frame;
    tstate->cframe->current_frame = NULL;
#endif
    return frames;
}
static inline void sm_tstate_give_frames(PyThreadState *tstate, void *frames) {
#if PY_VERSION_HEX >= 0x030D0000
    tstate->current_frame = frames;
#else
    tstate->cframe->current_frame = frames;
#endif
}

/* What of its recursion limits a thread has used: of that on Python calls and, where calls of C have one of their own
 * (3.12 and 3.13), of that. One on Python's stack counts once; so does a built-in function that is called, on 3.11
 * towards the one limit; on 3.12 and 3.13 a run of the evaluation loop counts twice towards the other. */
typedef struct {
    int python, c;
} sm_recursion;

/* All that is in use below the built-in function that asks, so that what it calls stands as if it were called by
 * nothing. */
static inline sm_recursion sm_tstate_recursion(const PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030E0000
    return (sm_recursion){tstate->py_recursion_limit - tstate->py_recursion_remaining, 0};
#elif PY_VERSION_HEX >= 0x030C0000
#ifdef Py_C_RECURSION_LIMIT
    int limit = Py_C_RECURSION_LIMIT;
#else
    int limit = C_RECURSION_LIMIT;
#endif
    return (sm_recursion){tstate->py_recursion_limit - tstate->py_recursion_remaining,
                          limit - tstate->c_recursion_remaining};
#else
    return (sm_recursion){tstate->recursion_limit - tstate->recursion_remaining, 0};
#endif
}
static inline void sm_tstate_recursion_add(PyThreadState *tstate, sm_recursion calls, int sign) {
#if PY_VERSION_HEX >= 0x030C0000
    tstate->py_recursion_remaining += sign * calls.python;
#if PY_VERSION_HEX < 0x030E0000
    tstate->c_recursion_remaining += sign * calls.c;
#endif
#else
    tstate->recursion_remaining += sign * calls.python;
#endif
}

/* Calls a function that is most likely a Python one. PyObject_Vectorcall does it, too, but not the shortest way: what
 * is shorter differs, and is a tenth of what an empty Python callback costs. From 3.14 on, PyObject_VectorcallDict is
 * compiled with a way of its own to Python functions. */
static inline PyObject *sm_call(PyObject *function, PyObject *const *arguments, size_t count) {
#if PY_VERSION_HEX >= 0x030E0000
    return PyObject_VectorcallDict(function, arguments, count, NULL);
#else
    return Py_TYPE(function) == &PyFunction_Type
               ? ((PyFunctionObject *)function)->vectorcall(function, arguments, count, NULL)
               : PyObject_Vectorcall(function, arguments, count, NULL);
#endif
}

/* Has it its characters at hand? Strings of the old C functions had not, until 3.12. */
static inline bool sm_str_is_ready(PyObject *text) {
#if PY_VERSION_HEX < 0x030C0000
    return PyUnicode_IS_READY(text);
#else
    (void)text;
    return true;
#endif
}

/* A type's own dict, borrowed; NULL: none yet. Makes no object. */
static inline PyObject *sm_type_dict(PyTypeObject *type) {
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type); /* built-in types have one in each interpreter */
    Py_XDECREF(dict);
    return dict;
#else
    return type->tp_dict;
#endif
}

/* Is it never destroyed? Then nobody made it while we looked. */
static inline bool sm_is_immortal(const PyObject *object) {
#if PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_IsImmortal((PyObject *)(uintptr_t)object);
#elif PY_VERSION_HEX >= 0x030C0000
    return _Py_IsImmortal((PyObject *)(uintptr_t)object);
#else
    (void)object;
    return false;
#endif
}

/* Is this the thread that the process began with, or that forked it? */
static inline int sm_is_main_thread(void) {
    return PyThread_get_thread_native_id() == (unsigned long)getpid();
}

static inline int sm_is_finalizing(void) {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

#endif
