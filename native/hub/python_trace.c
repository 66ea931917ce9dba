/* Trace functions in Python, with their local trace functions.
 *
 * The interpreter has one tracer, whose local functions are in the frames (f_trace). Several tracers share them here,
 * so every tool has a table of locals for each thread, by frame and checked against the code. While a tool's function
 * runs, the frame shows its local. Otherwise it shows the one of the thread's *home* tool, its first, which adopts what
 * a debugger writes there. While a foreign tracer has the thread's own trace slot, f_trace is its, and no tool is at
 * home. `epoch` counts these changes, so that a local is set again afterwards.
 *
 * A local lives until its frame ends. If that is not reported (gh-140373), it stays until the address is reused. */
#include <string.h>

#include "base/map.h"
#include "compat/frame.h"
#include "hub/as_tracefunc.h"
#include "hub/python_hook.h"

typedef struct {
    uint64_t frame; /* the frame's address, never dereferenced */
    const PyCodeObject *code;
    PyObject *function; /* owned, or NULL */
    uint32_t epoch;     /* when it was set in its frame; 0 if never */
    char lines, opcodes;
    char instructions; /* times requested again; see keep() */
} local;

typedef struct {    /* a tool's data about one thread */
    sm_map table;   /* local */
    uint32_t epoch; /* an even number while there is a foreign tracer */
} locals;

uint64_t sm_pytrace_tools = 0;

static local *find(const locals *locals, const PyFrameObject *frame) {
    return sm_map_find(&locals->table, (uintptr_t)frame, sizeof(local));
}

/* Remove a local. Its function is released last, because that may run any code. */
static void forget(locals *locals, local *gone) {
    PyObject *function = gone->function;
    sm_map_remove(&locals->table, gone, sizeof *gone);
    Py_XDECREF(function);
}

/* Return a new, empty local, or NULL if out of memory. */
static local *insert(locals *locals, const PyFrameObject *frame, const PyCodeObject *code) {
    local *made = sm_map_make(&locals->table, (uintptr_t)frame, sizeof *made, 16);
    if (made != NULL) {
        made->code = code;
        made->lines = 1;
    }
    return made;
}

void sm_pytrace_thread_gone(sm_tool *Py_UNUSED(tool), void *data) {
    locals *locals = data;
    sm_map gone = locals->table;
    memset(locals, 0, sizeof *locals);
    for (local *at = NULL; (at = sm_map_next(&gone, at, sizeof *at)) != NULL;)
        Py_XDECREF(at->function);
    sm_map_free(&gone);
}

void sm_pytrace_forget(sm_pyhook *hook) {
    /* Without the GIL, frames of other threads run on, and show a function that nobody calls any more. */
    PyThreadState *tstate =
        SM_FREE_THREADED ? PyThreadState_Get() : PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = SM_FREE_THREADED ? NULL : PyThreadState_Next(tstate)) {
        sm_hook_thread *thread = sm_hub_find_thread(tstate);
        const locals *table = thread ? thread->data[hook->tool.slot] : NULL;
        PyFrameObject *frame = table && table->table.count != 0 ? PyThreadState_GetFrame(tstate) : NULL;
        while (frame != NULL) {
            sm_frame_object *fields = (sm_frame_object *)frame;
            const local *known = find(table, frame);
            if (known != NULL && known->epoch == table->epoch && fields->trace == known->function)
                Py_CLEAR(fields->trace);
            Py_SETREF(frame, PyFrame_GetBack(frame));
        }
    }
}

/* The fields of a frame that belong to a tracer. */
typedef struct {
    PyObject *function; /* owned */
    char lines, opcodes;
} view;

static view take(sm_frame_object *frame) {
    view taken = {frame->trace, frame->trace_lines, frame->trace_opcodes};
    frame->trace = NULL;
    return taken;
}

static void show(sm_frame_object *frame, view shown) {
    PyObject *before = frame->trace;
    frame->trace = shown.function;
    frame->trace_lines = shown.lines;
    frame->trace_opcodes = shown.opcodes;
    Py_XDECREF(before);
}

/* Keep what the frame shows after the tool's function has run. */
static void keep(locals *table, sm_pyhook *hook, PyFrameObject *frame, const PyCodeObject *code, bool home, bool ends) {
    const sm_frame_object *fields = (const sm_frame_object *)frame;
    local *known = find(table, frame);
    if (ends) {
        if (known != NULL)
            forget(table, known);
        return;
    }
    bool plain = fields->trace == NULL && fields->trace_lines && !fields->trace_opcodes && hook->choice.filter == NULL;
    if (known == NULL && (plain || (known = insert(table, frame, code)) == NULL))
        return;
    known->epoch = home ? table->epoch : 0;
    known->lines = fields->trace_lines;
    known->opcodes = fields->trace_opcodes;
    if (known->opcodes && fields->trace != NULL && known->instructions < 2) {
        /* Setting f_trace_opcodes on a frame with an f_trace makes the interpreter's own tracer receive
         * instructions. Most functions set it at each event, so it shows at the second one. */
        known->instructions++;
        sm_hub_opcodes_again((PyCodeObject *)code);
        known = find(table, frame);
    }
    if (known != NULL && known->function != fields->trace) {
        PyObject *before = known->function;
        known->function = Py_XNewRef(fields->trace);
        Py_XDECREF(before);
    }
}

/* Return true if the table has what the frame shows. */
static inline bool is_kept(const local *known, const PyFrameObject *frame) {
    const sm_frame_object *fields = (const sm_frame_object *)frame;
    return known->frame == (uintptr_t)frame && known->function == fields->trace &&
           known->lines == fields->trace_lines && !known->opcodes && !fields->trace_opcodes;
}

/* Call the tool's function for this event, with its local in the frame. Return -1 if it raised. */
static int run(sm_pyhook *hook, PyFrameObject *frame, const sm_hook_event *event) {
    sm_frame_object *fields = (sm_frame_object *)frame;
    bool begins = (SM_HOOK_BIT(event->kind) &
                   (SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_RESUME) | SM_HOOK_BIT(SM_HOOK_THROW))) != 0;
    if (event->kind == SM_HOOK_OPCODE && !fields->trace_opcodes)
        return sm_hub_opcodes(&hook->tool, event->code, false);
    if (fields->trace_opcodes && sm_hub_opcodes(&hook->tool, event->code, true) < 0)
        return -1;
    if (event->kind == SM_HOOK_LINE && !fields->trace_lines)
        return 0;
    PyObject *function = begins ? hook->function : fields->trace, *arg, *made;
    if (function == NULL)
        return 0;
    if (sm_tracefunc_arg(event, &arg, &made) < 0)
        return -1;
    if (event->kind == SM_HOOK_LINE)
        fields->line = event->line;
    Py_INCREF(function);
    PyObject *result = sm_tracefunc_call(function, frame, sm_tracefunc_what(event), arg);
    Py_DECREF(function);
    fields->line = 0;
    Py_XDECREF(made);
    if (result == NULL) {
        Py_CLEAR(fields->trace);
        return -1;
    }
    int failed = fields->trace_opcodes && fields->trace ? sm_hub_opcodes(&hook->tool, event->code, true) : 0;
    if (result != Py_None)
        Py_XSETREF(fields->trace, Py_NewRef(result));
    Py_DECREF(result);
    return failed;
}

int sm_pytrace_call(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event) {
    sm_pyhook *hook = sm_pyhook_of(tool);
    locals *table = sm_hub_thread_data(thread, tool, sizeof *table);
    PyFrameObject *frame = sm_hub_frame_of(thread);
    if (frame == NULL || table == NULL) {
        sm_hub.lost++;
        return frame == NULL ? -1 : 0;
    }
    Py_INCREF(frame);
    bool foreign = sm_hook_backend_here.foreign_tracer(thread->tstate);
    if ((table->epoch & 1) == foreign) /* a foreign function came or went */
        table->epoch++;
    uint64_t tracers = thread->tools & sm_pytrace_tools;
    bool home = !foreign && 1ull << tool->slot == (tracers & -tracers);
    bool ends = event->kind == SM_HOOK_RETURN || event->kind == SM_HOOK_UNWIND;
    local *known = find(table, frame);
    if (known != NULL && (event->kind == SM_HOOK_START || known->code != event->code)) {
        forget(table, known);
        known = NULL;
    }
    int result = 0;
    if (hook->choice.filter != NULL && !sm_tool_filter_of_event(&hook->choice, event)) {
        if (ends && (known = find(table, frame)) != NULL)
            forget(table, known);
        Py_DECREF(frame);
        return 0;
    }
    sm_frame_object *fields = (sm_frame_object *)frame;
    view others = {0};
    bool in_frame = home && (known == NULL || known->epoch == table->epoch);
    if (!in_frame) {
        view own = {NULL, 1, 0};
        if (known != NULL)
            own = (view){Py_XNewRef(known->function), known->lines, known->opcodes};
        if (!home)
            others = take(fields);
        show(fields, own);
    }
    if (hook->choice.filter != NULL && find(table, frame) == NULL && fields->trace == NULL)
        fields->trace = Py_NewRef(hook->function); /* the call event was not reported */
    if (hook->choice.filter != NULL || !in_frame || ends)
        known = NULL; /* the call may move table entries */
    const void *places = table->table.places;
    result = run(hook, frame, event);
    if (result < 0 || known == NULL || table->table.places != places || !is_kept(known, frame))
        keep(table, hook, frame, event->code, home, ends || result < 0);
    if (!home)
        show(fields, others);
    if (result < 0)
        sm_hub_leave(thread, tool);
    Py_DECREF(frame);
    return result;
}

#if SM_SHARES_SLOTS

/* Handle a call into a new frame, or a line with the local function in place, for a tool that is alone and at home. */
int sm_pytrace_direct(sm_tool *tool, sm_hook_thread *thread, PyFrameObject *frame, int what, PyObject *arg) {
    sm_pyhook *hook = sm_pyhook_of(tool);
    locals *table = thread->data[tool->slot];
    sm_frame_object *fields = (sm_frame_object *)frame;
    if (table == NULL || (table->epoch & 1) == 0 || fields->trace_opcodes)
        return 1;
    const PyCodeObject *code = sm_frame_code(sm_frame_of(frame));
    const local *known = find(table, frame);
    const void *places = table->table.places;
    bool calls = what == PyTrace_CALL;
    if (calls ? known != NULL : known == NULL || known->code != code || known->epoch != table->epoch)
        return 1;
    PyObject *function = calls ? hook->function : fields->trace;
    if (function == NULL || !fields->trace_lines)
        return 1;
    Py_INCREF(hook); /* the hook may be removed meanwhile, with its table */
    Py_INCREF(function);
    PyObject *result = sm_tracefunc_call(function, frame, what, arg);
    bool failed = result == NULL;
    if (failed)
        Py_CLEAR(fields->trace);
    else if (fields->trace_opcodes && fields->trace != NULL && sm_hub_opcodes(tool, (PyCodeObject *)code, true) < 0)
        failed = true;
    if (result != NULL && result != Py_None && result != fields->trace)
        Py_XSETREF(fields->trace, Py_NewRef(result));
    if (tool->active && (failed || known == NULL || table->table.places != places || !is_kept(known, frame)))
        keep(table, hook, frame, code, true, failed);
    if (failed)
        sm_hub_leave(thread, tool);
    Py_XDECREF(result);
    Py_DECREF(function);
    Py_DECREF(hook);
    return failed ? -1 : 0;
}

#endif
