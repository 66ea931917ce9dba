/* One slot for any number of tools, which other tracers may overwrite without notice.
 *
 * Setting it. A previous tracer is *chained*: our function calls it first, and the last tool restores it. From 3.15 on,
 * it is notified of its removal and may free its data. So on 3.15 we refuse to start, except over tracemalloc, which
 * ignores this.
 *
 * Losing it. tracemalloc.start() and stop() overwrite the slot; before 3.15 its owner is not notified. So we check at
 * every safe point and whenever a tool comes, goes or asks. If the slot has another function, making an object tests
 * whether it chains us. If not, we are *blind* since the last successful check: tools get SM_REFERENCE_REMOVED, the
 * chained tracer is dropped, and we set the slot again once it is free or tracemalloc's.
 *
 * An event. It can come during an allocation, with an exception set, or under locks of the runtime, so our function
 * takes no lock and makes no object. A thread-local flag ignores events that a tool's callback causes. The slot belongs
 * to the process: events of subinterpreters, perhaps without our GIL, only go to the chained tracer.
 *
 * The direct path. A tool that is alone has its own function in the slot. One test at its start sends all rare cases to
 * the shared function. Another tracer may chain the direct function after its use: SM_REFERENCE_SHARED is set then.
 *
 * Going. `removed`, which releases Python objects, waits for a safe point if a tool is removed inside an event. The
 * array of tools is fixed and has holes, so an event may continue after any change. */
#include "hooks/reference_tracer.h"

#include "base/time.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "hooks/safepoint.h"

sm_reference_direct_state sm_reference_direct = {.rare = SM_REFERENCE_SHARED};

static struct {
    PyRefTracer ours; /* our function that is, or was last, in the slot */
    sm_reference_tool *tools[SM_REFERENCE_TOOLS];
    uint32_t end;    /* one past the last index in use */
    uint32_t active; /* number of tools that receive events */
    bool holding;    /* events reach us, as of the last check */
    bool switching;  /* we are setting the slot ourselves */
    PyRefTracer chained;
    void *chained_data;
    PyInterpreterState *interpreter;
    int64_t seen_ns;  /* when events last reached us for certain */
    int64_t blind_ns; /* total */
    uint64_t taken, failed, serials;
} slot;

static SM_FAST_TLS struct {
    bool inside, received;
} here;

static int64_t now_ns(void) {
    return (int64_t)sm_monotonic_ns();
}

static void fail(sm_reference_tool *tool, bool was_pending) {
    slot.failed++;
    if (PyErr_Occurred() && !was_pending)
        Py_XSETREF(tool->error, sm_exception_take());
    sm_reference_remove(tool);
    sm_safepoint_ask();
}

static inline void deliver(sm_reference_tool *tool, PyThreadState *tstate, PyObject *object, sm_reference_event event) {
    bool was_pending = sm_tstate_pending(tstate);
    SM_COUNT(tool->inside);
    if (SM_UNLIKELY(tool->call(tool, object, event) < 0) && tool->active)
        fail(tool, was_pending);
    SM_COUNT_BACK(tool->inside);
}

static bool ours(const PyThreadState *tstate) {
    return tstate != NULL && sm_tstate_interpreter(tstate) == slot.interpreter;
}

/* Record that another tracer has the slot, and notify the tools. */
static void lost(int64_t since) {
    slot.holding = false;
    slot.chained = NULL;
    slot.chained_data = NULL;
    slot.seen_ns = since;
    slot.taken++;
    bool was_inside = here.inside;
    here.inside = true;
    for (uint32_t i = 0; i < slot.end; i++) {
        if (slot.tools[i] != NULL && slot.tools[i]->active) {
            slot.tools[i]->taken++;
            deliver(slot.tools[i], PyThreadState_Get(), NULL, SM_REFERENCE_REMOVED);
        }
    }
    here.inside = was_inside;
}

static void receive_poke(void) {
    __atomic_fetch_and(&sm_reference_direct.rare, ~(uint32_t)SM_REFERENCE_POKED, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < slot.end; i++)
        if (slot.tools[i] != NULL && slot.tools[i]->active && slot.tools[i]->poked != NULL)
            slot.tools[i]->poked(slot.tools[i]);
}

int sm_reference_shared(PyObject *object, PyRefTracerEvent event, void *Py_UNUSED(data)) {
    PyRefTracer chained = slot.chained;
    if (chained != NULL && !slot.switching)
        chained(object, event, slot.chained_data);
    if (SM_UNLIKELY(object == NULL)) { /* the tracer was removed (3.15) */
        if (!slot.switching && slot.holding && ours(sm_tstate_unchecked()))
            lost(now_ns());
        return 0;
    }
    if (SM_UNLIKELY(here.inside)) {
        here.received = true;
        return 0;
    }
    PyThreadState *tstate = sm_tstate_unchecked();
    if (SM_UNLIKELY(!ours(tstate)))
        return 0;
    here.inside = true;
    if (SM_UNLIKELY((__atomic_load_n(&sm_reference_direct.rare, __ATOMIC_RELAXED) & SM_REFERENCE_POKED) != 0))
        receive_poke();
    for (uint32_t i = 0; i < slot.end; i++) {
        sm_reference_tool *tool = slot.tools[i];
        if (tool != NULL && tool->active && (tool->only == NULL || tool->only_id == sm_tstate_id(tstate)))
            deliver(tool, tstate, object, (sm_reference_event)event);
    }
    here.inside = false;
    return 0;
}

void sm_reference_poke(void) {
    __atomic_fetch_or(&sm_reference_direct.rare, SM_REFERENCE_POKED, __ATOMIC_RELEASE);
}

static void set_rare(uint32_t bit, bool on) {
    if (on)
        __atomic_fetch_or(&sm_reference_direct.rare, bit, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&sm_reference_direct.rare, ~bit, __ATOMIC_RELAXED);
}

void sm_reference_set_quiet(bool on) {
    set_rare(SM_REFERENCE_QUIET, on);
}

/* Return true if events reach us, by making an object. */
static bool receives(void) {
    bool was_inside = here.inside;
    here.inside = true;
    here.received = false;
    set_rare(SM_REFERENCE_LISTENING, true);
    PyObject *object = PyList_New(0);
    if (object == NULL)
        PyErr_Clear();
    Py_XDECREF(object);
    set_rare(SM_REFERENCE_LISTENING, false);
    here.inside = was_inside;
    return here.received;
}

static void set(PyRefTracer tracer, void *data) {
    SM_EXCEPTION_GUARD; /* with an exception set, 3.15 would fail */
    slot.switching = true;
    if (PyRefTracer_SetTracer(tracer, data) < 0)
        PyErr_Clear();
    slot.switching = false;
}

static bool is_ours(PyRefTracer tracer) {
    return tracer != NULL && (tracer == sm_reference_shared || tracer == slot.ours);
}

/* Return the function of ours that belongs in the slot. */
static PyRefTracer fitting(void) {
    sm_reference_tool *only = NULL;
    for (uint32_t i = 0; i < slot.end && slot.active == 1; i++)
        if (slot.tools[i] != NULL && slot.tools[i]->active)
            only = slot.tools[i];
    bool direct = only != NULL && only->direct != NULL && only->only == NULL && slot.chained == NULL &&
                  sm_reference_direct.places.newest != NULL;
    set_rare(SM_REFERENCE_SHARED, !direct);
    return direct ? only->direct : sm_reference_shared;
}

/* Update the slot after tools came or went, unless it is another's, which may chain us. */
static void arrange(void) {
    void *data;
    PyRefTracer wanted = fitting(), there = PyRefTracer_GetTracer(&data);
    if (is_ours(there) && there != wanted) {
        set(wanted, NULL);
        slot.ours = wanted;
    }
}

/* tracemalloc's tracer has no data, and is_tracing() shows that it is installed. */
static bool is_tracemalloc(const void *data) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules && data == NULL ? PyDict_GetItemString(modules, "_tracemalloc") : NULL;
    PyObject *answer = module ? PyObject_CallMethod(module, "is_tracing", NULL) : NULL;
    bool is = answer == Py_True;
    Py_XDECREF(answer);
    PyErr_Clear();
    return is;
}

/* Set the slot if its present tracer allows it. first: no tool receives events yet. */
static bool take(bool first) {
    void *data;
    PyRefTracer tracer = PyRefTracer_GetTracer(&data);
    if (is_ours(tracer))
        tracer = NULL, data = NULL;
    else if (tracer != NULL && !(first && !sm_reftracer_reports_removal()) && !is_tracemalloc(data))
        return false;
    slot.chained_data = data;
    slot.chained = tracer;
    slot.ours = fitting();
    set(slot.ours, NULL);
    slot.holding = PyRefTracer_GetTracer(&data) == slot.ours;
    return slot.holding;
}

static void give_back(void) {
    void *data;
    if (is_ours(PyRefTracer_GetTracer(&data)))
        set(slot.chained, slot.chained_data);
    else if (receives())
        return; /* another tracer chains us, so we keep calling our chained tracer */
    slot.chained = NULL;
    slot.chained_data = NULL;
    slot.holding = false;
}

void sm_reference_poll(void) {
    SM_CORE_GUARD;
    if (slot.active == 0)
        return;
    SM_EXCEPTION_GUARD;
    void *data;
    bool receive = is_ours(PyRefTracer_GetTracer(&data)) || receives();
    if (!receive && slot.holding)
        lost(slot.seen_ns);
    bool was_blind = !slot.holding;
    if (receive)
        slot.holding = true; /* another tool may have set ours again */
    else
        take(false);
    int64_t now = now_ns();
    if (was_blind) /* time without events is added as it passes */
        slot.blind_ns += now - slot.seen_ns;
    slot.seen_ns = now;
}

/* Call `removed` where it is due, with the GIL and outside of events. */
static void free_dead(void) {
    if (here.inside)
        return;
    sm_world_stop(); /* then no event is under way on another thread that found the tool */
    sm_world_start();
    for (uint32_t i = 0; i < slot.end; i++) {
        sm_reference_tool *tool = slot.tools[i];
        if (tool == NULL || !tool->leaving || tool->inside > 0)
            continue;
        slot.tools[i] = NULL;
        tool->leaving = false;
        PyObject *error = tool->error;
        tool->error = NULL;
        if (error != NULL) {
            PyErr_SetObject((PyObject *)Py_TYPE(error), error);
            PyErr_WriteUnraisable(NULL);
            Py_DECREF(error);
        }
        if (tool->removed != NULL)
            tool->removed(tool);
    }
    while (slot.end > 0 && slot.tools[slot.end - 1] == NULL)
        slot.end--;
}

static void adjust(void) {
    free_dead();
    if (here.inside)
        return;
    if (slot.active == 0) {
        give_back();
        sm_safepoint_stop(SM_SAFE_REFERENCES);
    }
    arrange();
}

static int safe_point(void) {
    SM_CORE_GUARD;
    sm_reference_poll();
    for (uint32_t i = 0; i < slot.end; i++) {
        sm_reference_tool *tool = slot.tools[i];
        if (tool == NULL || !tool->active || tool->safe == NULL)
            continue;
        tool->inside++;
        tool->safe(tool);
        tool->inside--;
    }
    adjust();
    return 0;
}

const char *sm_reference_objection(void) {
    const char *why_not = sm_interpreter_objection();
    return why_not != NULL ? why_not : sm_reftracer_objection();
}

const char *sm_reference_hook_objection(void) {
    const char *why_not = sm_reference_objection();
    if (why_not == NULL && SM_FREE_THREADED)
        return "reference hooks need the ordinary build of Python, and this is a free-threaded one, where only `seismo "
               "objects` follows objects";
    return why_not;
}

static int refuse(const char *why) {
    return SM_FAIL(PyExc_RuntimeError, "%s", why);
}

int sm_reference_add(sm_reference_tool *tool) {
    SM_CORE_GUARD;
    const char *why_not = tool->direct != NULL ? sm_reference_objection() : sm_reference_hook_objection();
    if (why_not != NULL)
        return refuse(why_not);
    free_dead();
    uint32_t i = 0;
    while (i < SM_REFERENCE_TOOLS && slot.tools[i] != NULL)
        i++;
    if (i == SM_REFERENCE_TOOLS)
        return refuse("32 tools trace references already, which is the limit: remove one first");
    if (sm_safepoint_start(SM_SAFE_REFERENCES, safe_point) < 0)
        return -1;
    slot.interpreter = sm_reference_direct.main = PyInterpreterState_Get();
    if (sm_reference_direct.places.newest == NULL && !sm_runtime_find(&sm_reference_direct.places))
        sm_reference_direct.places = (sm_runtime_places){0};
    if (slot.active > 0) {
        sm_reference_poll();
    } else if (!receives() && !take(true)) { /* an old chain may still lead here without any tool */
        sm_safepoint_stop(SM_SAFE_REFERENCES);
        return refuse("another tool holds the interpreter's only slot for a reference tracer, and would fail if it "
                      "were shared on this version of Python: stop that tool first");
    } else {
        slot.holding = true;
    }
    if (slot.active == 0)
        slot.seen_ns = now_ns();
    tool->only_id = tool->only ? sm_tstate_id(tool->only) : 0;
    tool->active = true;
    tool->leaving = false;
    tool->inside = 0;
    tool->taken = 0;
    tool->error = NULL;
    tool->serial = ++slot.serials;
    slot.active++;
    slot.tools[i] = tool;
    if (i >= slot.end)
        slot.end = i + 1;
    arrange();
    return 0;
}

void sm_reference_remove(sm_reference_tool *tool) {
    SM_CORE_GUARD;
    if (!tool->active)
        return;
    bool was_inside = here.inside;
    here.inside = true;
    tool->active = false;
    tool->leaving = true;
    slot.active--;
    set_rare(SM_REFERENCE_SHARED, true); /* stops direct calls now, because `arrange` may have to wait */
    SM_EXCEPTION_GUARD;
    deliver(tool, PyThreadState_Get(), NULL, SM_REFERENCE_REMOVED);
    PyErr_Clear();
    here.inside = was_inside;
    if (here.inside)
        sm_safepoint_ask();
    else
        adjust();
}

sm_reference_tool *sm_reference_newest(int (*call)(sm_reference_tool *, PyObject *, sm_reference_event)) {
    sm_reference_tool *newest = NULL;
    for (uint32_t i = 0; i < slot.end; i++) {
        sm_reference_tool *tool = slot.tools[i];
        if (tool != NULL && tool->active && tool->call == call && (newest == NULL || tool->serial > newest->serial))
            newest = tool;
    }
    return newest;
}

sm_reference_facts sm_reference_known_facts(void) {
    return (sm_reference_facts){SM_READ(slot.active) > 0 && SM_READ(slot.holding), SM_READ(slot.chained) != NULL,
                                SM_READ(slot.taken), SM_READ(slot.blind_ns)};
}

PyObject *sm_reference_status(void) {
    SM_CORE_GUARD;
    sm_reference_poll();
    return Py_BuildValue("{sIsOsOsKsLsK}", "tools", (unsigned)slot.active, "holding",
                         slot.active > 0 && slot.holding ? Py_True : Py_False, "chained",
                         slot.chained ? Py_True : Py_False, "taken", (unsigned long long)slot.taken, "blind_ns",
                         (long long)slot.blind_ns, "failed", (unsigned long long)slot.failed);
}

void sm_reference_forked(void) {
    for (uint32_t i = 0; i < slot.end; i++)
        if (slot.tools[i] != NULL && slot.tools[i]->active && slot.tools[i]->forked != NULL)
            slot.tools[i]->forked(slot.tools[i]);
    if (slot.active > 0)
        sm_safepoint_forked();
}

void sm_reference_exit(void) {
    SM_CORE_GUARD;
    for (uint32_t i = 0; i < slot.end; i++) {
        sm_reference_tool *tool = slot.tools[i];
        if (tool == NULL || !tool->active || tool->stays)
            continue;
        if (tool->exiting != NULL) {
            tool->inside++;
            tool->exiting(tool);
            tool->inside--;
        }
        sm_reference_remove(tool);
    }
    adjust();
    sm_safepoint_stop(SM_SAFE_REFERENCES); /* tools that stay need no safe points at exit */
}
