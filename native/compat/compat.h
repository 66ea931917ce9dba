/* Differences between Python versions. No other file names a version; what a version lacks is provided here. */
#pragma once

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
#define SM_HAS_EVALFRAME 0 /* monitoring is better: see docs/hooks.md */
#define SM_SHARES_SLOTS 0  /* only the profilefunc source needs the slots */
#else
#define SM_HAS_MONITORING 0
#define SM_HAS_EVALFRAME 1
#define SM_SHARES_SLOTS 1
#endif

/* Events of exceptions can be set on single code objects. */
#define SM_LOCAL_EXCEPTION_EVENTS (PY_VERSION_HEX >= 0x030F0000)

/* The two ways of a branch have an event each, which can be disabled separately. */
#define SM_BRANCH_HAS_SIDES (PY_VERSION_HEX >= 0x030E0000)

/* CALL reports a bound method of a C function as the method, C_RETURN as its function. */
#define SM_CALL_REPORTS_METHODS (PY_VERSION_HEX < 0x030E0000)

#ifdef Py_GIL_DISABLED
#define SM_FREE_THREADED 1
#else
#define SM_FREE_THREADED 0
#endif

/* Other interpreters of the process are recorded: up to 3.12 they share code objects, and PyMutex came with 3.13. */
#define SM_RECORDS_INTERPRETERS (PY_VERSION_HEX >= 0x030E0000)
#define SM_HAS_CORE_LOCK (SM_RECORDS_INTERPRETERS || SM_FREE_THREADED)
/* The lock guards nothing before the program makes an interpreter. */
#define SM_SHARES_LOCK_LATER (SM_RECORDS_INTERPRETERS && !SM_FREE_THREADED)

/* The current chunk of a thread's data stack. It changes when the stack outgrows a chunk or a greenlet exchanges it. */
typedef _PyStackChunk sm_chunk;

static inline sm_chunk *sm_tstate_chunk(PyThreadState *tstate) {
    return tstate->datastack_chunk;
}

/* Return the running frame's address, in a callback. A generator or coroutine keeps it for life, alone. */
static inline const void *sm_tstate_frame(PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030D0000
    return tstate->current_frame;
#else
    return tstate->cframe->current_frame;
#endif
}

/* Return the address of another thread's running frame, without the GIL: the frame may have ended. */
static inline const void *sm_tstate_frame_racy(PyThreadState *tstate) {
#if PY_VERSION_HEX >= 0x030D0000
    return __atomic_load_n((void **)&tstate->current_frame, __ATOMIC_RELAXED);
#else
    return __atomic_load_n((void **)&tstate->cframe->current_frame, __ATOMIC_RELAXED);
#endif
}

/* Code that was compiled to C can fire events. Our workaround sets an exception in a deallocator, which debug builds
 * forbid. */
#if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_DEBUG)
#define SM_HAS_FIRED_EVENTS 1
#else
#define SM_HAS_FIRED_EVENTS 0
#endif

/* LINE ignores the end of a loop (code/unreported_lines.h). */
#define SM_LOOP_ENDS_HIDE_LINES (PY_VERSION_HEX >= 0x030E0000)

/* LINE reports a first line in the def line only while PY_START is enabled (gh-155992). */
#define SM_FIRST_LINE_NEEDS_START (PY_VERSION_HEX >= 0x030D0000)

#if SM_HAS_MONITORING
/* Return a line number or offset that sys.monitoring passes. */
static inline int sm_int_of(PyObject *number) {
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return (int)PyUnstable_Long_CompactValue((PyLongObject *)number);
    return (int)PyLong_AsLong(number);
}
#endif

/* Set the profile function of any thread, without PyEval_SetProfileAllThreads' audit event and races (gh-137400). */
#if PY_VERSION_HEX >= 0x030D0000
extern int _PyEval_SetProfile(PyThreadState *tstate, Py_tracefunc func, PyObject *arg);
#endif
static inline int sm_set_profile(PyThreadState *tstate, Py_tracefunc func) {
    return _PyEval_SetProfile(tstate, func, NULL);
}

#if SM_SHARES_SLOTS
/* Update the evaluation loop's copy of whether a slot is used, after a direct write to a slot. */
static inline void sm_tstate_tracing_changed(PyThreadState *tstate) {
    bool tracing = tstate->tracing == 0 && (tstate->c_profilefunc != NULL || tstate->c_tracefunc != NULL);
    tstate->cframe->use_tracing = tracing ? 255 : 0;
}
#endif

/* The process's reference tracer (3.13). An extension built with 3.13.0 also runs on 3.13.3, so its reliability is
 * checked at run time. */
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
    if (Py_Version < 0x030D0000)
        return "reference tracing needs Python 3.13.3 or newer: earlier ones have no such hook";
    if (Py_Version < 0x030D03F0)
        return "reference tracing needs Python 3.13.3 or newer: 3.13.0 to 3.13.2 do not report most objects that are "
               "destroyed (gh-130382)";
    return NULL;
}
/* Return true if destroyed containers are not reported when the trashcan delays them (gh-156371). */
static inline bool sm_reftracer_trashcan(void) {
    return (Py_Version >= 0x030E0000 && Py_Version < 0x030E0800) ||
           (Py_Version >= 0x030F0000 && Py_Version < 0x030F0100);
}
/* Return true if a tracer is notified of its removal. It may then free its data, so it cannot be chained. */
static inline int sm_reftracer_reports_removal(void) {
    return Py_Version >= 0x030F0000;
}

/* Make the main thread check for pending calls before its next instruction, from a signal handler on it. Up to 3.12,
 * another thread's call is only noticed when threads take turns. */
#if PY_VERSION_HEX < 0x030D0000
PyAPI_FUNC(void) _PyEval_SignalReceived(PyInterpreterState *interp);
#endif
static inline void sm_look_for_pending_calls(void) {
#if PY_VERSION_HEX < 0x030D0000
    _PyEval_SignalReceived(PyInterpreterState_Main());
#endif
}

/* Return the running thread's state, or NULL. Unlike its address, its id is never reused. */
static inline PyThreadState *sm_tstate_unchecked(void) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}
/* Return true if the running thread holds the main interpreter's GIL. Any thread may call it. */
static inline bool sm_holds_gil(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return sm_tstate_unchecked() != NULL;
#else /* the state of the GIL's holder, on 3.11 */
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
/* Return true in the main interpreter. With a thread state. */
static inline bool sm_is_main_interpreter(void) {
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* Remove all Python frames from a thread and return them. The same C function has to give them back. */
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

/* A thread's use of its recursion limits: for Python calls, and for C calls on 3.12 and 3.13, where a run of the
 * evaluation loop counts twice. On 3.11 a call of a builtin counts like a Python call. */
typedef struct {
    int python, c;
} sm_recursion;

/* Return the use by the caller of the running builtin, so that what the builtin calls can start from zero. */
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

/* Call a function that is most likely a Python one, by the shortest way: a tenth of an empty Python callback's cost. */
static inline PyObject *sm_call(PyObject *function, PyObject *const *arguments, size_t count) {
#if PY_VERSION_HEX >= 0x030E0000
    return PyObject_VectorcallDict(function, arguments, count, NULL);
#else
    return Py_TYPE(function) == &PyFunction_Type
               ? ((PyFunctionObject *)function)->vectorcall(function, arguments, count, NULL)
               : PyObject_Vectorcall(function, arguments, count, NULL);
#endif
}

/* Return true if the characters can be read. Until 3.12, strings of old C functions lack them at first. */
static inline bool sm_str_is_ready(PyObject *text) {
#if PY_VERSION_HEX < 0x030C0000
    return PyUnicode_IS_READY(text);
#else
    (void)text;
    return true;
#endif
}

/* Return a type's own dict, borrowed, or NULL. Makes no object. */
static inline PyObject *sm_type_dict(PyTypeObject *type) {
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type); /* builtin types have a dict in each interpreter */
    Py_XDECREF(dict);
    return dict;
#else
    return type->tp_dict;
#endif
}

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

/* Return true on the thread that the process began with, or that forked it. */
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
