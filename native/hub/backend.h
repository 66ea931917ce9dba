/* What the hub and the interpreter's hooks are to each other. A *backend* receives events from one kind of hook (3.12
 * and later: backend_monitoring.c; 3.11: backend_slots.c), asks sm_hub_listeners() who wants them, and hands them to
 * sm_hub_dispatch(). The hub tells the backend what is wanted whenever that changes.
 *
 * Masks of tools have a bit for each tool's slot. All with the GIL. */
#ifndef SM_HUB_BACKEND_H
#define SM_HUB_BACKEND_H

#include "code/function.h"
#include "hub/hub.h"

typedef struct {
    const char *name;
    /* NULL: can be used now; else why not (a plain sentence). */
    const char *(*objection)(void);
    int (*start)(void); /* before the first tool: take what is needed. -1 with an exception */
    void (*stop)(void); /* after the last: give it back. No exception is pending, none may be left */
    /* What all tools want together has changed, or who is among them: sm_hub says it all. -1 with an exception: then
     * the hub takes the newest tool back and asks again. */
    int (*want)(void);
    /* This code object's own kinds (SM_HOOK_BIT()s), instead of the last ones given for it; in addition to those that
     * are wanted everywhere. NULL: the backend asks at each event, nothing is to be prepared. -1 with an exception. */
    int (*want_in)(PyCodeObject *code, uint32_t kinds);
    /* Places that were switched off shall report again. -1 with an exception. */
    int (*again)(void);
    bool (*holds)(void);                           /* is the hook still ours? */
    bool (*foreign_tracer)(PyThreadState *tstate); /* does another tracer hold this thread's own trace slot? */
    int (*tool_id)(void);                          /* of sys.monitoring; -1 */
} sm_hook_backend;

extern const sm_hook_backend sm_hook_backend_here; /* the one for this version of Python */

/* One of the hub's callbacks that is on a thread's stack. */
typedef struct sm_hook_visit {
    sm_tool *tool;
    struct sm_hook_visit *outer;
} sm_hook_visit;

struct sm_hook_thread {
    uint64_t tools;        /* those that want this thread's events */
    uint64_t left;         /* those that want them no more: sm_hub_leave */
    PyThreadState *tstate; /* borrowed */
    PyFrameObject *frame;  /* of the event at hand, where the hook gives it; else NULL: PyEval_GetFrame() finds it */
    sm_hook_visit *visit;  /* innermost; on the thread's own stack */
    sm_hook_thread *next, *before;
    sm_tool *stand_in[2];     /* what seismo.hooks.setprofile and settrace have set: see python_hook.c */
    void *data[SM_HUB_TOOLS]; /* owned, see sm_hub_thread_data */
};

/* What is known of a code object: by its address (code/code_map.h), and in a list of all. */
typedef struct sm_hook_code {
    uint64_t decided;               /* sm_hub.changes when the tools were last asked */
    uint64_t wanted[SM_HOOK_KINDS]; /* the filtered tools that want this kind here; SM_HOOK_OPCODE: any tools */
    uint32_t given;                 /* kinds last given to want_in */
    PyCodeObject *code;             /* borrowed: this dies with it */
    struct sm_hook_code *next, *before;
} sm_hook_code;

typedef struct {
    uint64_t active;                    /* the tools */
    uint64_t filtered;                  /* those of them that choose code objects */
    uint64_t tracing;                   /* those of them that want LINE, RAISE, STOP_ITERATION or OPCODE */
    uint64_t everywhere[SM_HOOK_KINDS]; /* that want the kind in all code */
    uint64_t somewhere[SM_HOOK_KINDS];  /* that want it in some code: see sm_hook_code.wanted */
    uint64_t changes;                   /* a count of tools that came */
    bool switched_off;                  /* the backend has switched a place off since `again` */
    sm_tool *tools[SM_HUB_TOOLS];       /* by slot; those that are leaving, too */
    sm_hook_thread *threads;
    sm_hook_code *codes;
    uint64_t lost; /* events or verdicts lost for want of memory */
    bool holds;    /* the table of code objects */
    uint32_t busy; /* functions under way that have a record in hand: none is freed */
} sm_hub_state;

extern sm_hub_state sm_hub;
extern sm_hook_thread sm_hook_no_thread; /* stands for a thread without a record */
extern __thread sm_hook_thread *sm_hook_this __attribute__((tls_model("initial-exec")));

/* The code object's record with every verdict given; NULL when out of memory (counted). No exception is left or lost.
 */
sm_hook_code *sm_hub_decide(PyCodeObject *code, PyObject *globals);

/* NULL: no tool has been asked yet. */
static inline sm_hook_code *sm_hub_known(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    return SM_LIKELY(entry != NULL) ? entry->of[SM_CODE_HOOKS] : NULL;
}

static inline sm_hook_code *sm_hub_code(PyCodeObject *code) {
    sm_hook_code *known = sm_hub_known(code);
    return SM_LIKELY(known != NULL && known->decided == sm_hub.changes) ? known : sm_hub_decide(code, NULL);
}

/* The running thread's record, made if it must; NULL: out of memory, or the thread is at its end. */
static inline sm_hook_thread *sm_hub_event_thread(void) {
    sm_hook_thread *thread = sm_hook_this;
    return SM_LIKELY(thread != &sm_hook_no_thread) ? thread : sm_hub_thread();
}

/* The tools that want this kind of event in this code object, on whatever thread. */
static inline uint64_t sm_hub_listeners(sm_hook_kind kind, PyCodeObject *code) {
    uint64_t listeners = sm_hub.everywhere[kind];
    if (sm_hub.somewhere[kind] != 0) {
        const sm_hook_code *known = sm_hub_code(code);
        listeners |= known != NULL ? known->wanted[kind] : 0;
    }
    return listeners;
}

/* NULL: it has none. */
sm_hook_thread *sm_hub_find_thread(PyThreadState *tstate);

void sm_hub_finish(sm_tool *tool);    /* one that is leaving, and is inside no callback any more */
PyFrameObject *sm_hub_no_frame(void); /* NULL with an exception */

/* sm_hub_frame(), for a tool that is called a million times a second. */
static inline PyFrameObject *sm_hub_frame_of(const sm_hook_thread *thread) {
    PyFrameObject *frame = SM_SHARES_SLOTS ? thread->frame : NULL;
    if (frame == NULL)
        frame = PyEval_GetFrame();
    return SM_LIKELY(frame != NULL) ? frame : sm_hub_no_frame();
}

/* One tool receives the event. -1 with the exception that it raised. */
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

/* Hands the event to the listeners, who must be some, and among thread->tools. -1 with an exception: the first that a
 * tool raised; the others have received the event all the same. */
SM_INLINE int sm_hub_dispatch(sm_hook_thread *thread, uint64_t listeners, const sm_hook_event *event) {
    if (SM_LIKELY((listeners & (listeners - 1)) == 0)) /* one: nobody can have come or gone in between */
        return sm_hub_dispatch_one(thread, sm_hub.tools[__builtin_ctzll(listeners)], event);
    return sm_hub_dispatch_all(thread, listeners, event);
}

#endif
