/* The interpreter's frames: heads of private structures, and whole frames for PEP 523 on 3.11. */
#pragma once

#include <stdbool.h>

#include "compat/compat.h"

/* The head of PyFrameObject, the same from 3.11 to 3.15 (checked by tests/hooks). */
typedef struct {
    PyObject_HEAD PyFrameObject *back;
    void *frame;
    PyObject *trace; /* f_trace; owned, NULL for None */
    int line;        /* f_lineno if not 0, otherwise it is found from the instruction */
    char trace_lines, trace_opcodes, fast_as_locals /* up to 3.12 */;
} sm_frame_object;

/* Around a call of a Python trace function: before 3.13 (PEP 667), f_locals is a copy that the function may change. */
static inline int sm_frame_before_call(PyFrameObject *frame) {
#if PY_VERSION_HEX < 0x030D0000
    return ((sm_frame_object *)frame)->fast_as_locals ? PyFrame_FastToLocalsWithError(frame) : 0;
#else
    (void)frame;
    return 0;
#endif
}
static inline void sm_frame_after_call(PyFrameObject *frame) {
#if PY_VERSION_HEX < 0x030D0000
    if (((sm_frame_object *)frame)->fast_as_locals)
        PyFrame_LocalsToFast(frame, 1);
#else
    (void)frame;
#endif
}

/* Return the interpreter's frame of a frame object: sm_tstate_frame()'s address while it runs. */
static inline const void *sm_frame_behind(const PyFrameObject *frame) {
    return ((const sm_frame_object *)frame)->frame;
}

/* The head of _PyInterpreterFrame, the same from 3.12 to 3.15 (checked by tests/native/recorder/lines and objects). */
typedef struct sm_frame_head {
    uintptr_t executable; /* a pointer, with tag bits since 3.14 */
    const struct sm_frame_head *previous;
    PyObject *function, *globals, *builtins, *locals;
    PyFrameObject *object;
    const unsigned char *instruction; /* from 3.13 on, the instruction that runs */
} sm_frame_head;

static inline bool sm_frame_is_of(const sm_frame_head *frame, const void *code) {
    return (frame->executable ^ (uintptr_t)code) < 8;
}

/* Return a frame's code, or NULL if the frame belongs to no Python function: it marks an entry from C, or the
 * specialised call of a class. */
static inline PyCodeObject *sm_frame_code_of(const sm_frame_head *frame) {
    PyObject *executable = (PyObject *)(frame->executable & ~(uintptr_t)7);
    if (executable == NULL || !PyCode_Check(executable))
        return NULL;
    PyCodeObject *code = (PyCodeObject *)executable;
#ifdef CO_NO_MONITORING_EVENTS
    if ((code->co_flags & CO_NO_MONITORING_EVENTS) != 0)
        return NULL;
#elif SM_HAS_MONITORING
    /* 3.12: the code of all entries from C is NOP, INTERPRETER_EXIT. <opcode.h> has other users of these names. */
    const unsigned char *bytes = (const unsigned char *)code->co_code_adaptive;
    if (bytes[0] == 9 && bytes[2] == 3)
        return NULL;
#endif
    return code;
}

/* From 3.14 on, interpreters built with a JIT make a temporary list whenever they instrument code. It seems to come
 * from the code that begins or resumes after a change of monitoring events. */
#define SM_INSTRUMENTING_MAKES_LISTS (PY_VERSION_HEX >= 0x030E0000 && !SM_FREE_THREADED)
#if SM_INSTRUMENTING_MAKES_LISTS
/* Return the number of changes to these events, times 256. */
static inline uintptr_t sm_tstate_events_version(const PyThreadState *tstate) {
    return tstate->eval_breaker & ~(uintptr_t)255;
}
#endif

static inline const unsigned char *sm_code_instructions(const void *code) {
    return (const unsigned char *)((const PyCodeObject *)code)->co_code_adaptive;
}

/* Return the instruction of a running frame. Without the GIL, each thread runs a copy of the code's instructions. */
static inline const unsigned char *sm_frame_instruction(const sm_frame_head *frame, const PyCodeObject *code) {
#if SM_FREE_THREADED
    struct _PyInterpreterFrame *of = (struct _PyInterpreterFrame *)(uintptr_t)frame;
    return sm_code_instructions(code) + PyUnstable_InterpreterFrame_GetLasti(of);
#else
    (void)code;
    return frame->instruction;
#endif
}

#if SM_HAS_EVALFRAME
#define Py_BUILD_CORE 1
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

typedef struct _PyInterpreterFrame sm_frame;

static inline PyCodeObject *sm_frame_code(const sm_frame *frame) {
    return frame->f_code;
}
static inline bool sm_frame_of_generator(const sm_frame *frame) {
    return frame->owner == FRAME_OWNED_BY_GENERATOR;
}
static inline int sm_frame_last(const sm_frame *frame) { /* byte offset of the last instruction */
    return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}
static inline const sm_frame *sm_frame_running(PyThreadState *tstate) {
    return tstate->cframe->current_frame;
}
static inline const sm_frame *sm_frame_of(const PyFrameObject *object) {
    return object->f_frame;
}
static inline const sm_frame *sm_frame_caller(const sm_frame *frame) {
    return frame->previous;
}
static inline PyObject *sm_frame_globals(const sm_frame *frame) { /* borrowed */
    return frame->f_globals;
}
static inline uint32_t
sm_frame_unit(const sm_frame *frame) { /* of the last instruction; a huge number before the first one */
    return (uint32_t)_PyInterpreterFrame_LASTI(frame);
}
/* Return true before the first RESUME. */
static inline bool sm_frame_is_fresh_call(const sm_frame *frame) {
    return _PyFrame_IsIncomplete((sm_frame *)frame);
}
/* Push the value again for a frame that left the evaluation loop at RETURN_VALUE. */
static inline void sm_frame_unpop(sm_frame *frame) {
    frame->stacktop++;
}
static inline PyObject *sm_frame_pop(sm_frame *frame) {
    return frame->localsplus[--frame->stacktop];
}
static inline void sm_frame_push(sm_frame *frame, PyObject *value) {
    frame->localsplus[frame->stacktop++] = value;
}
static inline PyObject *sm_frame_top(const sm_frame *frame) {
    return frame->localsplus[frame->stacktop - 1];
}
/* Set the unit at which it will resume. */
static inline void sm_frame_go_to(sm_frame *frame, uint32_t unit) {
    frame->prev_instr = (_Py_CODEUNIT *)frame->f_code->co_code_adaptive + unit - 1;
}

/* Return true if the thread's running frame, and what it calls next, report events. */
static inline bool sm_tstate_is_traced(PyThreadState *tstate) {
    return tstate->cframe->use_tracing != 0;
}

/* Make all frames on the thread's stack that have a trace function report events. */
static inline void sm_tstate_trace_stack(PyThreadState *tstate) {
    for (_PyCFrame *link = tstate->cframe; link != NULL; link = link->previous)
        link->use_tracing = 255;
}

/* Return the first argument of a function that is about to run, borrowed, or NULL. */
static inline PyObject *sm_frame_self(const sm_frame *frame) {
    return frame->f_code->co_argcount > 0 ? frame->localsplus[0] : NULL;
}

/* Make a frame the running one while C code acts for it; `link` is on that code's stack. */
typedef _PyCFrame sm_link;
static inline void sm_tstate_link(PyThreadState *tstate, sm_link *link, sm_frame *frame) {
    link->use_tracing = tstate->cframe->use_tracing;
    link->current_frame = frame;
    link->previous = tstate->cframe;
    tstate->cframe = link;
}
static inline void sm_tstate_unlink(PyThreadState *tstate, sm_link *link) {
    tstate->cframe = link->previous;
    tstate->cframe->use_tracing = link->use_tracing;
}

/* Do what `frame.f_trace_opcodes = True` does. */
static inline void sm_frame_trace_opcodes(PyFrameObject *object) {
    object->f_trace_opcodes = 1;
}

/* Return the interpreter's frame below this one, or NULL. */
static inline const void *sm_frame_below(const void *frame) {
    return ((const sm_frame *)frame)->previous;
}
static inline bool sm_frame_runs(const void *frame, const void *code) {
    return frame != NULL && ((const sm_frame *)frame)->f_code == code;
}
/* Return the byte offset of the running frame's instruction. */
static inline Py_ssize_t sm_tstate_last(PyThreadState *tstate) {
    return sm_frame_last(sm_frame_running(tstate));
}

static inline int64_t sm_tstate_depth(PyThreadState *tstate) {
    int64_t depth = 0;
    for (const sm_frame *frame = sm_frame_running(tstate); frame != NULL; frame = frame->previous)
        depth += !_PyFrame_IsIncomplete((sm_frame *)frame);
    return depth;
}

/* Unused on 3.11, which has no source of starts. */
static inline int64_t sm_tstate_depth_racy(PyThreadState *Py_UNUSED(tstate)) {
    return 0;
}

/* Return the local variable of that number, a new reference, or NULL. Makes no snapshot of the frame. */
static inline PyObject *sm_frame_variable(PyFrameObject *frame, PyCodeObject *code, int number) {
    PyObject *value = frame->f_frame->localsplus[number];
    int kind = (unsigned char)PyBytes_AS_STRING(code->co_localspluskinds)[number];
    if (value != NULL && (kind & (0x40 | 0x80)) != 0 && PyCell_Check(value)) /* CO_FAST_CELL, CO_FAST_FREE */
        value = PyCell_GET(value);
    return Py_XNewRef(value);
}

#else

static inline const void *sm_frame_below(const void *frame) {
    return ((const sm_frame_head *)frame)->previous;
}
static inline bool sm_frame_runs(const void *frame, const void *code) {
    if (frame == NULL)
        return false;
    PyObject *running = PyUnstable_InterpreterFrame_GetCode((struct _PyInterpreterFrame *)(uintptr_t)frame);
    Py_XDECREF(running); /* borrowed; the frame holds a reference */
    return running == code;
}
static inline Py_ssize_t sm_tstate_last(PyThreadState *tstate) {
    return PyUnstable_InterpreterFrame_GetLasti((struct _PyInterpreterFrame *)sm_tstate_frame(tstate));
}

static inline int64_t sm_tstate_depth(PyThreadState *tstate) {
    return tstate->py_recursion_limit - tstate->py_recursion_remaining;
}

/* Return the depth of another thread's stack, without the GIL. */
static inline int64_t sm_tstate_depth_racy(PyThreadState *tstate) {
    return tstate->py_recursion_limit - __atomic_load_n(&tstate->py_recursion_remaining, __ATOMIC_RELAXED);
}

static inline PyObject *sm_frame_variable(PyFrameObject *frame, PyCodeObject *code, int number) {
    PyObject *value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(code->co_localsplusnames, number));
    if (value == NULL)
        PyErr_Clear();
    return value;
}

#endif
