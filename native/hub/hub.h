/* The hub: the interpreter's call, line and exception events for any number of tools at once.
 *
 * A *tool* is a C callback with a mask of events, for one thread or for all, perhaps with a filter. The hub subscribes
 * to the union of its tools' events. A place that no tool wants is disabled (3.12 and later, with a tool id of
 * sys.monitoring), or costs one check (3.11, with the shared profile and trace slots). The hub and the recorders are
 * independent.
 *
 * Everything is guarded by the GIL, or by the core's lock (compat/core_lock.h), which is given up while functions of
 * the program run. The maker keeps a tool alive until `removed` is called. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SM_HOOK_START,          /* a Python function begins; arg NULL */
    SM_HOOK_RESUME,         /* a generator or coroutine resumes; arg NULL */
    SM_HOOK_THROW,          /* resumed by throw() or close(); arg: the exception */
    SM_HOOK_RETURN,         /* arg: the value */
    SM_HOOK_YIELD,          /* arg: the value */
    SM_HOOK_UNWIND,         /* left by an exception; arg: the exception (3.11: NULL, it is the current one) */
    SM_HOOK_C_CALL,         /* arg: a builtin function, bound method, or method descriptor with `self` */
    SM_HOOK_C_RETURN,       /* arg: the callable */
    SM_HOOK_C_RAISE,        /* arg: the callable */
    SM_HOOK_LINE,           /* a line begins; `line`; arg NULL */
    SM_HOOK_RAISE,          /* an exception is raised in, or enters, this frame; arg: the exception */
    SM_HOOK_STOP_ITERATION, /* an exception ends a loop; arg: the exception (3.12+; 3.11 reports RAISE) */
    SM_HOOK_OPCODE,         /* an instruction begins; only in code given to sm_hub_opcodes() */
    SM_HOOK_KINDS
} sm_hook_kind;

#define SM_HOOK_BIT(kind) (1u << (kind))
#define SM_HOOK_CALLS                                                                                                  \
    (SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_RESUME) | SM_HOOK_BIT(SM_HOOK_THROW) |                           \
     SM_HOOK_BIT(SM_HOOK_RETURN) | SM_HOOK_BIT(SM_HOOK_YIELD) | SM_HOOK_BIT(SM_HOOK_UNWIND))
#define SM_HOOK_C_CALLS (SM_HOOK_BIT(SM_HOOK_C_CALL) | SM_HOOK_BIT(SM_HOOK_C_RETURN) | SM_HOOK_BIT(SM_HOOK_C_RAISE))

#define SM_HOOK_TRACING                                                                                                \
    (SM_HOOK_BIT(SM_HOOK_LINE) | SM_HOOK_BIT(SM_HOOK_RAISE) | SM_HOOK_BIT(SM_HOOK_STOP_ITERATION) |                    \
     SM_HOOK_BIT(SM_HOOK_OPCODE))

typedef struct sm_tool sm_tool;
typedef struct sm_hook_thread sm_hook_thread;

/* An event. Its pointers are borrowed and valid during the callback. */
typedef struct {
    sm_hook_kind kind;
    PyCodeObject *code;
    PyObject *arg;
    PyObject *self; /* the object that a method descriptor is called on, or NULL; 3.11 binds it itself */
    int line;       /* for SM_HOOK_LINE, or 0 */
    int offset;     /* offset of the instruction in bytes; -1 if unknown */
    PyObject *made; /* an object that the interpreter made for this event, or NULL */
} sm_hook_event;

struct sm_tool {
    /* Set by the maker before sm_hub_add, and constant while the hub has it. */
    uint32_t events;
    bool filtered; /* `wants` decides; otherwise all code is wanted */
    /* The thread whose events are wanted and whose end removes the tool, or NULL for all threads. */
    PyThreadState *only;
    /* Receives an event, with no exception set. Returns 0, or -1 with an exception to raise in the program after the
     * other tools. No other event of this thread is delivered meanwhile. */
    int (*call)(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event);
    /* Returns the subset of `events` wanted for this code object, at its first event. globals: borrowed, its
     * frame's. Runs no Python code and sets no exception. */
    uint32_t (*wants)(sm_tool *tool, PyCodeObject *code, PyObject *globals);
    /* Releases what the data of sm_hub_thread_data holds, when the thread ends or the tool leaves. May be NULL. */
    void (*thread_gone)(sm_tool *tool, void *data);
    /* Runs first in a forked child, which cannot run Python yet, with all threads' records in place. May be NULL. */
    void (*forked)(sm_tool *tool);
    void (*removed)(sm_tool *tool); /* the last call for the tool; may free it */
    /* Does the same as `call` for a profile or trace function's event (of the latter only calls and lines), or NULL.
     * Called while the tool is alone and unfiltered. Returns 1 to request `call`. The tool may be removed meanwhile. */
    int (*direct)(sm_tool *tool, sm_hook_thread *thread, PyFrameObject *frame, int what, PyObject *arg);

    /* Private. */
    uint32_t slot; /* a number below SM_HUB_TOOLS */
    bool active, leaving;
    uint32_t inside; /* number of its callbacks that run, on any stack */
    uint64_t since;  /* sm_hub.changes when it was added */
};

#define SM_HUB_TOOLS 64

/* Add a tool, for running frames too. The newest tool receives first. Return -1 with a RuntimeError set. */
int sm_hub_add(sm_tool *tool);

/* Remove a tool, from anywhere; `removed` waits for its callbacks. Idempotent, and preserves the current exception. */
void sm_hub_remove(sm_tool *tool);

/* Return the running thread's record, made at its first event. */
sm_hook_thread *sm_hub_thread(void);
/* Return the tool's data of this thread, zeroed at first, or NULL if out of memory. */
void *sm_hub_thread_data(sm_hook_thread *thread, sm_tool *tool, size_t size);

/* Return the frame of the current event, borrowed, or NULL with an exception set. Expensive. */
PyFrameObject *sm_hub_frame(void);

/* Return PyTrace_C_CALL's argument for this event, a new bound reference, or NULL with an exception set. */
PyObject *sm_hub_callable(const sm_hook_event *event);

/* Stop the tool's events on this thread. A tool for this thread only is removed. */
void sm_hub_leave(sm_hook_thread *thread, sm_tool *tool);

/* Switch SM_HOOK_OPCODE, one of the tool's events, for this code object. Return -1 with an exception set. */
int sm_hub_opcodes(sm_tool *tool, PyCodeObject *code, bool on);
/* Restore this code's instruction events, lost when another tool subscribed to them (gh-157900). */
void sm_hub_opcodes_again(PyCodeObject *code);

/* Return a new dict of the hub's state for `seismo doctor`: {tool_id, tools, events, lost}. */
PyObject *sm_hub_status(void);
