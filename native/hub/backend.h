/* The interface between the hub and the interpreter's hooks. A *backend* receives the events of one kind of hook,
 * calls sm_hub_listeners() for the tools that want them and sm_hub_dispatch() to deliver them. Masks of tools have a
 * bit for each slot. Everything is guarded by the GIL. */
#pragma once

#include "code/function.h"
#include "hub/hub.h"

typedef struct {
    const char *name;
    int (*start)(void); /* before the first tool; -1 with an exception set; or NULL */
    void (*stop)(void); /* after the last tool; called and returns without an exception */
    /* Applies changed masks of sm_hub. Returns -1 with an exception set; the hub then removes the newest tool. */
    int (*want)(void);
    /* Sets this code object's kinds (SM_HOOK_BIT()s), in addition to those wanted everywhere. Returns -1 with an
     * exception set. */
    int (*want_in)(PyCodeObject *code, uint32_t kinds);
    /* Enables disabled places again. Returns -1 with an exception set. */
    int (*again)(void);
    bool (*holds)(void);                           /* true while the hook is ours */
    bool (*foreign_tracer)(PyThreadState *tstate); /* true if another tracer has this thread's own trace slot */
    int (*tool_id)(void);                          /* returns the tool id of sys.monitoring, or -1 */
} sm_hook_backend;

extern const sm_hook_backend sm_hook_backend_here;

/* A callback that is on a thread's stack. */
typedef struct sm_hook_visit {
    sm_tool *tool;
    struct sm_hook_visit *outer;
} sm_hook_visit;

struct sm_hook_thread {
    uint64_t tools;        /* tools that want this thread's events */
    uint64_t left;         /* tools that left it (sm_hub_leave) */
    PyThreadState *tstate; /* borrowed */
    PyFrameObject *frame;  /* the current event's, if the hook passes it; NULL means PyEval_GetFrame() */
    sm_hook_visit *visit;  /* the innermost visit; on the thread's own stack */
    sm_hook_thread *next, **link;
    sm_tool *stand_in[2];     /* set by seismo.hooks.setprofile and settrace (python_hook.c) */
    void *data[SM_HUB_TOOLS]; /* owned; see sm_hub_thread_data */
};

/* The record of a code object, found by its address (code/code_map.h), and in a list of all. */
typedef struct sm_hook_code {
    uint64_t decided;               /* sm_hub.changes at the last decision */
    uint64_t settled;               /* the same, once the backend knows it: events read it without the lock */
    uint64_t wanted[SM_HOOK_KINDS]; /* filtered tools that want the kind here; SM_HOOK_OPCODE: any tools */
    uint32_t given;                 /* kinds last passed to want_in */
    PyCodeObject *code;             /* borrowed; the record dies with it */
    struct sm_hook_code *next, **link;
} sm_hook_code;

typedef struct {
    uint64_t active;
    uint64_t filtered;                  /* active tools with a filter */
    uint64_t tracing;                   /* active ones that want LINE, RAISE, STOP_ITERATION or OPCODE */
    uint64_t everywhere[SM_HOOK_KINDS]; /* tools that want the kind in all code */
    uint64_t somewhere[SM_HOOK_KINDS];  /* tools that want it in some code (sm_hook_code.wanted) */
    uint64_t changes;                   /* number of tools added */
    bool switched_off;                  /* the backend has disabled a place since `again` */
    sm_tool *tools[SM_HUB_TOOLS];       /* by slot, tools that are leaving included */
    sm_hook_thread *threads;
    sm_hook_code *codes;
    uint64_t lost; /* number of events or verdicts lost because memory ran out */
    bool holds;    /* the table of code objects is held */
    uint32_t busy; /* functions that use a record, so none is freed */
} sm_hub_state;

extern sm_hub_state sm_hub;
extern sm_hook_thread sm_hook_no_thread; /* stands for a thread without a record */
extern SM_FAST_TLS sm_hook_thread *sm_hook_this;

/* Return the code object's record, decided for all tools, or NULL if out of memory. Preserves the current exception. */
sm_hook_code *sm_hub_decide(PyCodeObject *code, PyObject *globals);

/* Return the record, or NULL if no tool was asked yet. */
static inline sm_hook_code *sm_hub_known(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    return SM_LIKELY(entry != NULL) ? __atomic_load_n(&entry->of[SM_CODE_HOOKS], __ATOMIC_ACQUIRE) : NULL;
}

static inline sm_hook_code *sm_hub_code(PyCodeObject *code) {
    sm_hook_code *known = sm_hub_known(code);
    return SM_LIKELY(known != NULL && known->decided == sm_hub.changes) ? known : sm_hub_decide(code, NULL);
}

/* Return the running thread's record, or NULL if out of memory or at the thread's end. */
static inline sm_hook_thread *sm_hub_event_thread(void) {
    sm_hook_thread *thread = sm_hook_this;
    return SM_LIKELY(thread != &sm_hook_no_thread) ? thread : sm_hub_thread();
}

/* Return the tools that want this kind of event in this code object, on any thread. */
static inline uint64_t sm_hub_listeners(sm_hook_kind kind, PyCodeObject *code) {
    uint64_t listeners = sm_hub.everywhere[kind];
    if (sm_hub.somewhere[kind] != 0) {
        const sm_hook_code *known = sm_hub_code(code);
        listeners |= known != NULL ? known->wanted[kind] : 0;
    }
    return listeners;
}

/* Return the thread's record, or NULL. */
sm_hook_thread *sm_hub_find_thread(PyThreadState *tstate);
/* Make the records of all threads. Return -1 with an exception set. */
int sm_hub_find_all_threads(void);

/* Finish a tool that is leaving and has no running callbacks. */
void sm_hub_finish(sm_tool *tool);
/* Return NULL with an exception set. */
PyFrameObject *sm_hub_no_frame(void);

static inline PyFrameObject *sm_hub_frame_of(const sm_hook_thread *thread) {
    PyFrameObject *frame = SM_SHARES_SLOTS ? thread->frame : NULL;
    if (frame == NULL)
        frame = PyEval_GetFrame();
    return SM_LIKELY(frame != NULL) ? frame : sm_hub_no_frame();
}

/* Deliver the event to one tool. Return -1 with its exception set. */
static inline int sm_hub_dispatch_one(sm_hook_thread *thread, sm_tool *tool, const sm_hook_event *event) {
    sm_hook_visit visit = {tool, thread->visit};
    thread->visit = &visit;
    tool->inside++;
    int result = tool->call(tool, thread, event);
    thread->visit = visit.outer;
    if (--tool->inside == 0 && SM_UNLIKELY(tool->leaving))
        sm_hub_finish(tool);
    return result;
}

int sm_hub_dispatch_all(sm_hook_thread *thread, uint64_t listeners, const sm_hook_event *event);

/* Deliver the event to the listeners, a non-empty subset of thread->tools. Return -1 with the first exception set. */
SM_INLINE int sm_hub_dispatch(sm_hook_thread *thread, uint64_t listeners, const sm_hook_event *event) {
    if (SM_LIKELY((listeners & (listeners - 1)) == 0)) /* a single tool, so none can come or go in between */
        return sm_hub_dispatch_one(thread, sm_hub.tools[__builtin_ctzll(listeners)], event);
    return sm_hub_dispatch_all(thread, listeners, event);
}
