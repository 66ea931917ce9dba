/* The reference tracer: the interpreter's one slot for "an object was made" and "an object is destroyed", for any
 * number of tools at once. Needs 3.13.3; see reference_tracer.c for how the slot is shared.
 *
 * Ownership and threads: everything with the main interpreter's GIL. A tool belongs to whoever made it until `removed`
 * is called, which is the last that is done with it, never inside an event, never while one of its callbacks is on any
 * thread's stack. */
#ifndef SM_HOOKS_REFERENCE_TRACER_H
#define SM_HOOKS_REFERENCE_TRACER_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/function.h"
#include "compat/compat.h"
#include "compat/runtime.h"

typedef enum { /* PyRefTracerEvent's numbers */
               SM_REFERENCE_CREATE = 0,
               SM_REFERENCE_DESTROY = 1,
               SM_REFERENCE_REMOVED =
                   SM_REFTRACER_REMOVED, /* object NULL: another tracer took the slot, or we gave it up */
} sm_reference_event;

typedef struct sm_reference_tool sm_reference_tool;
struct sm_reference_tool {
    /* Set by the maker before sm_reference_add. */
    PyThreadState *only; /* this thread's events; NULL: all threads' of the interpreter, running and future */
    /* CREATE and DESTROY come in the middle of anything, maybe with an exception pending: it may read the object's
     * type and address, and must make no Python object, run no Python code, take no lock. What happens inside is not
     * reported to any tool. -1: the tool is removed; an exception that it set is told as unraisable, later. */
    int (*call)(sm_reference_tool *tool, PyObject *object, sm_reference_event event);
    /* What stands in the slot itself while this tool is the only one and nobody is chained; NULL: nothing does. It does
     * what `call` does, and begins with: if sm_reference_is_rare(), return sm_reference_shared(its arguments). */
    PyRefTracer direct;
    bool stays; /* at exit it is not removed: its owner does that, later, or never */
    void (*poked)(
        sm_reference_tool *tool); /* in the middle of anything, like call: at the first event after sm_reference_poke */
    void (*safe)(sm_reference_tool *tool);    /* Python code may run: on the main thread, now and then; NULL: no need */
    void (*forked)(sm_reference_tool *tool);  /* in the child; NULL: nothing to do */
    void (*exiting)(sm_reference_tool *tool); /* the last moment for Python code, still active; NULL: nothing to do */
    void (*removed)(sm_reference_tool *tool); /* may free it; NULL: nothing to do */

    /* The slot's own. */
    bool active;
    bool leaving;     /* `removed` is still to be called */
    uint32_t inside;  /* its callbacks on any stack */
    uint64_t only_id; /* of `only`, whose address may be another thread's some day */
    uint64_t serial;  /* a later one is newer */
    uint64_t taken;   /* times that the slot was lost while it listened */
    PyObject *error;  /* owned; what it raised */
};

#define SM_REFERENCE_TOOLS 32

/* -1 with an exception: RuntimeError in a plain sentence (Python too old, too many tools, a tracer that cannot be
 * shared, a subinterpreter). Events begin before this returns. */
int sm_reference_add(sm_reference_tool *tool);

/* No event reaches the tool after this but SM_REFERENCE_REMOVED, which it gets from within here. Idempotent; from any
 * thread, and from inside any callback. Leaves a pending exception alone. */
void sm_reference_remove(sm_reference_tool *tool);

/* ---- the direct path ---- */

enum { /* sm_reference_direct.rare */
       SM_REFERENCE_SHARED =
           1, /* there are other tools, or none: the direct function was left in another tracer's chain */
       SM_REFERENCE_LISTENING = 2, /* a check whether events come is under way */
       SM_REFERENCE_POKED = 4,
       SM_REFERENCE_QUIET = 8, /* the tool's own: some thread's events are not wanted */
};

typedef struct {
    uint32_t rare; /* atomic: the ticker's thread pokes */
    sm_runtime_places places;
    PyInterpreterState *main;
} sm_reference_direct_state;

extern sm_reference_direct_state sm_reference_direct;

/* Must this event take the long way? One branch for all that is rare: other tools, other interpreters (whose events
 * come here, too, maybe without our GIL), a collection. */
static inline bool sm_reference_is_rare(void) {
    const sm_reference_direct_state *direct = &sm_reference_direct;
    uintptr_t others = (uintptr_t)*direct->places.newest ^ (uintptr_t)direct->main;
    uint32_t rare = __atomic_load_n(&direct->rare, __ATOMIC_RELAXED) | (uint32_t)*direct->places.collecting;
    return SM_UNLIKELY((others | rare) != 0);
}

/* The function that serves any number of tools. */
int sm_reference_shared(PyObject *object, PyRefTracerEvent event, void *data);

/* From any thread, without the GIL: the next event calls `poked` first. */
void sm_reference_poke(void);

/* With the GIL: direct functions are not called while on. */
void sm_reference_set_quiet(bool on);

/* Does a collection run that began on this thread's stack, as far as that can be told? Asked at an event. */
static inline bool sm_reference_is_collecting(void) {
    return sm_reference_direct.places.collecting != NULL && *sm_reference_direct.places.collecting != 0;
}

/* From `call`: let `safe` be called soon. */
void sm_reference_ask(void);

/* With the GIL, outside events: is the slot still ours? If not, and it is free, takes it again. */
void sm_reference_poll(void);

sm_reference_tool *sm_reference_newest(int (*call)(sm_reference_tool *, PyObject *,
                                                   sm_reference_event)); /* NULL: none is active */

typedef struct {
    bool holding, chained;
    uint64_t taken;
    int64_t blind_ns;
} sm_reference_facts;

/* How the slot fared since the first tool came, as it was found to be last; from any thread. */
sm_reference_facts sm_reference_known_facts(void);

/* A new dict: tools, holding, chained, taken, blind_ns, failed. */
PyObject *sm_reference_status(void);

/* Why it cannot be used here (a plain sentence), or NULL. */
const char *sm_reference_objection(void);

void sm_reference_forked(void); /* from os.register_at_fork */
void sm_reference_exit(void);   /* from atexit: removes all tools that do not stay; no more safe points */

#endif
