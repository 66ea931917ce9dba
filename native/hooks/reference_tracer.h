/* The reference tracer (3.13.3 and later): the interpreter's slot for created and destroyed objects, shared. Guarded
 * by the main interpreter's GIL, or by the core's lock, except at events. The maker keeps a tool alive until `removed`
 * is called, outside of events and of its callbacks. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/function.h"
#include "compat/compat.h"
#include "compat/runtime.h"

typedef enum { /* numbered as PyRefTracerEvent */
               SM_REFERENCE_CREATE = 0,
               SM_REFERENCE_DESTROY = 1,
               SM_REFERENCE_REMOVED = SM_REFTRACER_REMOVED, /* object is NULL: the slot was lost or given up */
} sm_reference_event;

typedef struct sm_reference_tool sm_reference_tool;
struct sm_reference_tool {
    /* Set by the maker before sm_reference_add. */
    PyThreadState *only; /* for one thread's events, or NULL for all threads of the interpreter */
    /* Receives CREATE and DESTROY at any moment, maybe with an exception set. It makes no object, runs no Python
     * code and takes no lock. Events that it causes are ignored. It returns -1 to be removed, which reports its
     * exception later. */
    int (*call)(sm_reference_tool *tool, PyObject *object, sm_reference_event event);
    /* In the slot while this tool is alone and nothing is chained, or NULL. Does the same as `call`, but begins
     * with: if sm_reference_is_rare(), return sm_reference_shared(its arguments). */
    PyRefTracer direct;
    bool stays;                               /* the tool is not removed at exit */
    void (*poked)(sm_reference_tool *tool);   /* like call, at the first event after sm_reference_poke */
    void (*safe)(sm_reference_tool *tool);    /* on the main thread at safe points, may run Python code; or NULL */
    void (*forked)(sm_reference_tool *tool);  /* called in a forked child; or NULL */
    void (*exiting)(sm_reference_tool *tool); /* the last chance to run Python code; or NULL */
    void (*removed)(sm_reference_tool *tool); /* called at last, may free the tool; or NULL */

    /* Private. */
    bool active;
    bool leaving;     /* `removed` is yet to be called */
    uint32_t inside;  /* number of its callbacks that run, on any stack */
    uint64_t only_id; /* id of `only`, whose address may be reused */
    uint64_t serial;  /* increases with each tool */
    uint64_t taken;   /* times that the slot was lost meanwhile */
    PyObject *error;  /* owned; the exception that it raised */
};

#define SM_REFERENCE_TOOLS 32

/* Add a tool. Return -1 with a RuntimeError set if it cannot be added. */
int sm_reference_add(sm_reference_tool *tool);

/* Remove a tool, from anywhere. It gets SM_REFERENCE_REMOVED within this call. Preserves the current exception. */
void sm_reference_remove(sm_reference_tool *tool);

/* ---- the direct path ---- */

enum {                             /* bits of sm_reference_direct.rare */
       SM_REFERENCE_SHARED = 1,    /* other tools, or none: another tracer chained the function */
       SM_REFERENCE_LISTENING = 2, /* a check is under way whether events arrive */
       SM_REFERENCE_POKED = 4,
       SM_REFERENCE_QUIET = 8, /* set by the tool, to ignore some thread's events */
};

typedef struct {
    uint32_t rare; /* atomic; the ticker's thread pokes */
    sm_runtime_places places;
    PyInterpreterState *main;
} sm_reference_direct_state;

extern sm_reference_direct_state sm_reference_direct;

/* Return true if the event must go to sm_reference_shared: other tools or interpreters, or a collection. */
static inline bool sm_reference_is_rare(void) {
    const sm_reference_direct_state *direct = &sm_reference_direct;
    uintptr_t others = (uintptr_t)*direct->places.newest ^ (uintptr_t)direct->main;
    uint32_t rare = __atomic_load_n(&direct->rare, __ATOMIC_RELAXED) | (uint32_t)*direct->places.collecting;
    return SM_UNLIKELY((others | rare) != 0);
}

int sm_reference_shared(PyObject *object, PyRefTracerEvent event, void *data);

/* Make the next event call `poked` first. From any thread, without the GIL. */
void sm_reference_poke(void);

/* While on, send all events to the shared function instead of a direct one. With the GIL. */
void sm_reference_set_quiet(bool on);

/* Return true if a collection seems to run on this thread's stack. Called at an event. */
static inline bool sm_reference_is_collecting(void) {
    return sm_reference_direct.places.collecting != NULL && *sm_reference_direct.places.collecting != 0;
}

/* Check that the slot is ours, and set it again if it is free. With the GIL, outside of events. */
void sm_reference_poll(void);

sm_reference_tool *sm_reference_newest(int (*call)(sm_reference_tool *, PyObject *,
                                                   sm_reference_event)); /* NULL if none is active */

typedef struct {
    bool holding, chained;
    uint64_t taken;
    int64_t blind_ns;
} sm_reference_facts;

/* Return facts since the first tool came, as of the last check. From any thread. */
sm_reference_facts sm_reference_known_facts(void);

/* Return a new dict: tools, holding, chained, taken, blind_ns, failed. */
PyObject *sm_reference_status(void);

/* Return why it cannot be used here, or NULL: by a tool with a direct function, or by any other. */
const char *sm_reference_objection(void);
const char *sm_reference_hook_objection(void);

void sm_reference_forked(void); /* called by os.register_at_fork */
void sm_reference_exit(void);   /* from atexit: removes all tools that do not stay, and ends safe points */
