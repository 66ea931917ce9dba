/* The hub: the interpreter's call, line and exception events for any number of tools at once.
 *
 * A *tool* is a C callback with a mask of events, for one thread or for all, perhaps with a filter. The hub asks the
 * interpreter for what its tools want together, hands each event to those that want it, and for the rest has the
 * interpreter say nothing: whether a code object is wanted is decided once for each, and a place that nobody wants is
 * switched off (3.12 and later, through a tool id of its own) or left at one look (3.11, through the profile and trace
 * slots, which it shares with whoever was there).
 *
 * It knows no recorder and the recorders do not know it: the engine and the hub run side by side.
 *
 * Ownership and threads: everything with the GIL. A tool belongs to whoever made it until `removed` is called, which is
 * the last that the hub does with it, and never while one of its callbacks is on any thread's stack. */
#ifndef SM_HUB_HUB_H
#define SM_HUB_HUB_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/function.h"
#include "compat/compat.h"

typedef enum {
    SM_HOOK_START,    /* a Python function begins; arg NULL */
    SM_HOOK_RESUME,   /* a generator or coroutine goes on; arg NULL */
    SM_HOOK_THROW,    /* the same, by throw() or close(); arg: the exception */
    SM_HOOK_RETURN,   /* arg: the value */
    SM_HOOK_YIELD,    /* arg: the value */
    SM_HOOK_UNWIND,   /* left by an exception; arg: the exception (3.11: NULL, it is pending) */
    SM_HOOK_C_CALL,   /* arg: the C function: a built-in function or bound method, or a method descriptor with `self` */
    SM_HOOK_C_RETURN, /* arg: the callable */
    SM_HOOK_C_RAISE,  /* arg: the callable */
    SM_HOOK_LINE,     /* a line begins; `line`; arg NULL */
    SM_HOOK_RAISE,    /* an exception is raised in, or passes into, this frame; arg: the exception */
    SM_HOOK_STOP_ITERATION, /* the one that ends a loop; arg: the exception (3.12+; 3.11 reports it as RAISE) */
    SM_HOOK_OPCODE,         /* an instruction begins; only in code given to sm_hub_opcodes() */
    SM_HOOK_KINDS
} sm_hook_kind;

#define SM_HOOK_BIT(kind) (1u << (kind))
#define SM_HOOK_CALLS                                                                                                  \
    (SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_RESUME) | SM_HOOK_BIT(SM_HOOK_THROW) |                           \
     SM_HOOK_BIT(SM_HOOK_RETURN) | SM_HOOK_BIT(SM_HOOK_YIELD) | SM_HOOK_BIT(SM_HOOK_UNWIND))
#define SM_HOOK_C_CALLS (SM_HOOK_BIT(SM_HOOK_C_CALL) | SM_HOOK_BIT(SM_HOOK_C_RETURN) | SM_HOOK_BIT(SM_HOOK_C_RAISE))

typedef struct sm_tool sm_tool;
typedef struct sm_hook_thread sm_hook_thread;

/* One event. All pointers are borrowed and valid during the callback. */
typedef struct {
    sm_hook_kind kind;
    PyCodeObject *code;
    PyObject *arg;
    PyObject *self; /* C events: what the method descriptor `arg` is called on, else NULL; 3.11 binds it itself */
    int line;       /* SM_HOOK_LINE; else 0 */
    int offset;     /* of the instruction, in bytes; -1: not known */
    PyObject *made; /* by the interpreter to report this event: the program has nothing to do with it; NULL: nothing */
} sm_hook_event;

struct sm_tool {
    /* Set by the maker before sm_hub_add, fixed while the hub has it. */
    uint32_t events; /* SM_HOOK_BIT()s */
    bool filtered;   /* `wants` decides; else every code object is wanted */
    /* This thread's events; NULL: all threads', running and future. When this thread ends, the tool is removed. */
    PyThreadState *only;
    /* The event. No exception is pending when it is called (one that was is put aside and back). 0, or -1 with an
     * exception set: it is raised in the program, at the place of the event, when the other tools have received it. No
     * event of this thread reaches any tool until it returns. */
    int (*call)(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event);
    /* Which of `events` this code object's frames are wanted for; asked once for a code object, at its first event.
     * globals: its frame's, borrowed. Must neither run Python code nor leave an exception. */
    uint32_t (*wants)(sm_tool *tool, PyCodeObject *code, PyObject *globals);
    /* What the memory of sm_hub_thread_data holds is to be released; the memory itself is the hub's. The thread has
     * ended, or the tool leaves. NULL: nothing to release. */
    void (*thread_gone)(sm_tool *tool, void *data);
    /* In a forked child, first of all: the interpreter is not ready for any Python yet, and the records of the other
     * threads still stand: the interpreter drops them, and thread_gone is called, later. NULL: nothing to do. */
    void (*forked)(sm_tool *tool);
    void (*removed)(sm_tool *tool); /* the hub is done with it; may free it */
    /* NULL, or the same as `call` in the terms of a profile or trace function: what a backend that has the events so
     * calls while the tool is alone and chooses nothing. Of a trace function's events only calls and lines, while no
     * foreign tracer is there; and 1 says that it is to be `call` after all. The tool may be removed, and `removed`
     * called, while this runs: it holds what it needs. */
    int (*direct)(sm_tool *tool, sm_hook_thread *thread, PyFrameObject *frame, int what, PyObject *arg);

    /* The hub's own. */
    uint32_t slot; /* below SM_HUB_TOOLS */
    bool active, leaving;
    uint32_t inside; /* its callbacks on any stack */
    uint64_t since;  /* sm_hub.changes when it came */
};

#define SM_HUB_TOOLS 64

/* -1 with an exception: RuntimeError in a plain sentence (no tool id free, too many tools, a free-threaded build). The
 * newest tool receives an event first, as with sys.monitoring's own order nothing is promised about others. Events
 * begin before this returns, frames that are on the stacks included. */
int sm_hub_add(sm_tool *tool);

/* No callback of the tool begins after this, on any thread. Idempotent; from any thread, and from inside any callback,
 * the tool's own included (then `removed` is called when that has returned). Leaves a pending exception alone. */
void sm_hub_remove(sm_tool *tool);

/* The running thread's record, made at its first event. */
sm_hook_thread *sm_hub_thread(void);
/* The tool's own memory of this thread: zeroed at first, found again until thread_gone. NULL: out of memory. */
void *sm_hub_thread_data(sm_hook_thread *thread, sm_tool *tool, size_t size);

/* The frame of the event at hand, for those who want one: making it costs more than the event. Borrowed; NULL with an
 * exception when out of memory. */
PyFrameObject *sm_hub_frame(void);

/* What PyTrace_C_CALL gives for this C event: a new reference, bound to its object. NULL with an exception. */
PyObject *sm_hub_callable(const sm_hook_event *event);

/* The tool receives nothing more of this thread; one that was for this thread only is removed. */
void sm_hub_leave(sm_hook_thread *thread, sm_tool *tool);

/* The tool wants SM_HOOK_OPCODE for this code object, or no longer. It must have the kind among its events; a filter is
 * not asked. -1 with an exception. */
int sm_hub_opcodes(sm_tool *tool, PyCodeObject *code, bool on);
/* Another tool of the interpreter has begun to receive the instructions of this code object, whereby the first one
 * loses them (gh-157900). */
void sm_hub_opcodes_again(PyCodeObject *code);

/* What the hub holds now, for doctor: a new dict {tool_id, tools, events, lost}. */
PyObject *sm_hub_status(void);

#endif
