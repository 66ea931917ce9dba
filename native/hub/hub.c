/* The hub: masks of tools and records of code objects.
 *
 * At an event, all decisions are masks with a bit for each tool: of this kind in all code, in this code object, and on
 * this thread. They are updated when a tool comes or goes. A code object's record keeps the filtered tools' verdicts.
 * `changes` counts added tools, so an outdated record asks only the new ones.
 *
 * A tool that leaves is removed from all masks at once. Its maker may free it when its callbacks have returned.
 * Its slot may be reused while an event is delivered whose mask has its bit, so a newer tool is skipped. */
#include "hub/hub.h"

#include <string.h>

#include "base/alloc.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/forks.h"
#include "compat/runtime.h"
#include "engine/engine.h"
#include "hooks/monitoring_tool.h"
#include "hub/backend.h"

#define CAPSULE "seismo.hooks.thread"
#define BIT(tool) (1ull << (tool)->slot)

sm_hub_state sm_hub;
sm_hook_thread sm_hook_no_thread;
SM_FAST_TLS sm_hook_thread *sm_hook_this = &sm_hook_no_thread;

static PyThreadState gone; /* sm_tool.only of a thread that has ended */

/* Threads. */

static uint64_t tools_of(PyThreadState *tstate) {
    uint64_t tools = 0;
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++) {
        const sm_tool *tool = sm_hub.tools[slot];
        if (tool != NULL && tool->active && (tool->only == NULL || tool->only == tstate))
            tools |= BIT(tool);
    }
    return tools;
}

static void drop_data(sm_hook_thread *thread, sm_tool *tool) {
    void *data = thread->data[tool->slot];
    thread->data[tool->slot] = NULL;
    if (data != NULL && tool->thread_gone != NULL)
        tool->thread_gone(tool, data);
    sm_free(data);
}

static void thread_ended(PyObject *capsule) {
    sm_hook_thread *thread = PyCapsule_GetPointer(capsule, CAPSULE);
    if (thread == NULL) {
        PyErr_Clear();
        return;
    }
    SM_CORE_GUARD;
    SM_EXCEPTION_GUARD;
    thread->tools = 0;
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++) {
        sm_tool *tool = sm_hub.tools[slot];
        if (tool == NULL)
            continue;
        drop_data(thread, tool);
        if (tool->only == thread->tstate) {
            tool->only = &gone;
            if (!sm_is_finalizing())
                sm_hub_remove(tool);
        }
    }
    *thread->link = thread->next;
    if (thread->next != NULL)
        thread->next->link = thread->link;
    if (sm_hook_this == thread)
        sm_hook_this = &sm_hook_no_thread;
    sm_free(thread);
}

sm_hook_thread *sm_hub_find_thread(PyThreadState *tstate) {
    sm_hook_thread *thread = sm_hub.threads;
    while (thread != NULL && thread->tstate != tstate)
        thread = thread->next;
    return thread;
}

/* Return a new record, or NULL with an exception set. */
static sm_hook_thread *new_thread(PyThreadState *tstate) {
    if (tstate->dict == NULL)
        tstate->dict = PyDict_New();
    sm_hook_thread *thread = tstate->dict ? sm_calloc(1, sizeof *thread) : NULL;
    PyObject *capsule = thread ? PyCapsule_New(thread, CAPSULE, NULL) : NULL;
    if (capsule == NULL || PyDict_SetItemString(tstate->dict, CAPSULE, capsule) < 0) {
        Py_XDECREF(capsule);
        sm_free(thread);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return NULL;
    }
    PyCapsule_SetDestructor(capsule, thread_ended);
    Py_DECREF(capsule);
    thread->tstate = tstate;
    thread->tools = tools_of(tstate);
    thread->next = sm_hub.threads;
    thread->link = &sm_hub.threads;
    if (thread->next != NULL)
        thread->next->link = &thread->next;
    return sm_hub.threads = thread;
}

int sm_hub_find_all_threads(void) {
    SM_CORE_GUARD;
    int status = 0;
    sm_world_stop(); /* no thread ends meanwhile, and later its record's end waits for the lock */
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL && status == 0; tstate = PyThreadState_Next(tstate))
        status = sm_hub_find_thread(tstate) == NULL && new_thread(tstate) == NULL ? -1 : 0;
    sm_world_start();
    return status;
}

sm_hook_thread *sm_hub_thread(void) {
    SM_CORE_GUARD;
    PyThreadState *tstate = PyThreadState_Get();
    if (sm_hook_this->tstate == tstate)
        return sm_hook_this;
    sm_hook_thread *thread = sm_hub_find_thread(tstate);
    if (thread == NULL) {
        if (sm_is_finalizing())
            return NULL;
        SM_EXCEPTION_GUARD;
        sm_engine_hold(NULL, true);
        thread = new_thread(tstate);
        sm_engine_hold(NULL, false);
        if (thread == NULL) {
            sm_hub.lost++;
            return NULL;
        }
    }
    return sm_hook_this = thread;
}

void *sm_hub_thread_data(sm_hook_thread *thread, sm_tool *tool, size_t size) {
    void **data = &thread->data[tool->slot];
    if (SM_UNLIKELY(*data == NULL))
        *data = sm_calloc(1, size);
    return *data;
}

PyFrameObject *sm_hub_no_frame(void) {
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "this event has no frame");
    return NULL;
}

PyFrameObject *sm_hub_frame(void) {
    return sm_hub_frame_of(sm_hook_this);
}

PyObject *sm_hub_callable(const sm_hook_event *event) {
    if (event->self == NULL)
        return Py_NewRef(event->arg);
    return Py_TYPE(event->arg)->tp_descr_get(event->arg, event->self, (PyObject *)Py_TYPE(event->self));
}

/* Code objects. */

static void code_died(sm_code_entry *entry) {
    sm_hook_code *known = entry->of[SM_CODE_HOOKS];
    entry->of[SM_CODE_HOOKS] = NULL;
    *known->link = known->next;
    if (known->next != NULL)
        known->next->link = known->link;
    sm_free(known);
}

/* Keep all records until end_work(), even if the last tool leaves. */
static void begin_work(void) {
    sm_hub.busy++;
}

static void end_work(void) {
    if (--sm_hub.busy > 0 || sm_hub.active != 0 || !sm_hub.holds)
        return;
    sm_world_stop(); /* until no event looks at a record without the lock */
    sm_hook_code *codes = sm_hub.codes;
    for (sm_hook_code *known = codes; known != NULL; known = known->next)
        sm_code_entry_of(known->code)->of[SM_CODE_HOOKS] = NULL;
    sm_hub.codes = NULL;
    sm_world_start();
    for (sm_hook_code *known = codes, *next; known != NULL; known = next) {
        next = known->next;
        sm_free(known);
    }
    sm_hub.holds = false;
    sm_codes_release();
}

static sm_hook_code *code_record(PyCodeObject *code) {
    if (!sm_hub.holds) /* the last tool has just left */
        return NULL;
    sm_code_entry *entry = sm_code_entry_make(code);
    if (entry != NULL && entry->of[SM_CODE_HOOKS] != NULL)
        return entry->of[SM_CODE_HOOKS];
    sm_hook_code *known = entry != NULL ? sm_calloc(1, sizeof *known) : NULL;
    if (known == NULL) {
        sm_hub.lost++;
        return NULL;
    }
    known->code = code;
    known->next = sm_hub.codes;
    known->link = &sm_hub.codes;
    if (known->next != NULL)
        known->next->link = &known->next;
    __atomic_store_n(&entry->of[SM_CODE_HOOKS], known, __ATOMIC_RELEASE);
    return sm_hub.codes = known;
}

/* Pass the code object's kinds to the backend, if they changed. Return -1 with an exception set. */
static int give(sm_hook_code *known) {
    uint32_t kinds = 0;
    for (int kind = 0; kind < SM_HOOK_KINDS; kind++)
        kinds |= known->wanted[kind] != 0 ? SM_HOOK_BIT(kind) : 0;
    if (kinds == known->given)
        return 0;
    uint32_t before = known->given;
    known->given = kinds; /* first, because the call may recurse */
    if (sm_hook_backend_here.want_in(known->code, kinds) == 0)
        return 0;
    known->given = before;
    return -1;
}

sm_hook_code *sm_hub_decide(PyCodeObject *code, PyObject *globals) {
    SM_CORE_GUARD;
    SM_EXCEPTION_GUARD;
    sm_engine_hold(NULL, true);
    begin_work();
    sm_hook_code *known = code_record(code);
    if (known != NULL && known->decided != sm_hub.changes) {
        uint64_t before = known->decided;
        known->decided = sm_hub.changes;
        if (globals == NULL && sm_hub.filtered != 0)
            globals = PyEval_GetGlobals(); /* borrowed; of the running frame, which runs this code */
        for (uint64_t tools = sm_hub.filtered; tools != 0; tools &= tools - 1) {
            sm_tool *tool = sm_hub.tools[__builtin_ctzll(tools)];
            if (tool->since <= before)
                continue;
            uint32_t kinds = tool->wants(tool, code, globals) & tool->events;
            for (int kind = 0; kind < SM_HOOK_OPCODE; kind++) {
                uint64_t others = known->wanted[kind] & ~BIT(tool);
                SM_WRITE(known->wanted[kind], others | (kinds & SM_HOOK_BIT(kind) ? BIT(tool) : 0));
            }
        }
        if (give(known) < 0) {
            PyErr_Clear();
            sm_hub.lost++;
        }
        __atomic_store_n(&known->settled, known->decided, __ATOMIC_RELEASE);
    }
    end_work();
    if (!sm_hub.holds)
        known = NULL; /* the tool that was asked was the last one, and has left */
    sm_engine_hold(NULL, false);
    return known;
}

/* Return a list of the code objects whose record has the bit, which keeps them alive, or NULL with an exception set. */
static PyObject *codes_with(uint64_t bit) {
    PyObject *list = PyList_New(0);
    for (sm_hook_code *known = sm_hub.codes; known != NULL && list != NULL; known = known->next) {
        uint64_t tools = 0;
        for (int kind = 0; kind < SM_HOOK_KINDS; kind++)
            tools |= known->wanted[kind];
        if ((tools & bit) != 0 && PyList_Append(list, (PyObject *)known->code) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* Remove the tool from the records of all code objects. */
static void withdraw(sm_tool *tool) {
    PyObject *list = codes_with(BIT(tool));
    for (sm_hook_code *known = sm_hub.codes; known != NULL; known = known->next)
        for (int kind = 0; kind < SM_HOOK_KINDS; kind++)
            SM_WRITE(known->wanted[kind], known->wanted[kind] & ~BIT(tool));
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        sm_hook_code *known = code_record((PyCodeObject *)PyList_GET_ITEM(list, i));
        if (known != NULL && give(known) < 0)
            PyErr_Clear();
    }
    Py_XDECREF(list);
    PyErr_Clear();
}

/* Decide the code of frames that run already, whose START has passed. */
#if SM_HAS_MONITORING
static void decide(PyCodeObject *code, PyObject *globals) {
    (void)sm_hub_decide(code, globals);
}

static void decide_running(void) {
    sm_hub.lost += !sm_monitoring_each_running(decide);
}
#else
static void decide_running(void) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        PyFrameObject *frame = PyThreadState_GetFrame(tstate);
        while (frame != NULL) {
            PyCodeObject *code = PyFrame_GetCode(frame);
            PyObject *globals = PyFrame_GetGlobals(frame);
            (void)sm_hub_decide(code, globals);
            Py_XDECREF(globals);
            Py_DECREF(code);
            Py_SETREF(frame, PyFrame_GetBack(frame));
        }
    }
}
#endif

/* Tools. */

/* Each mask is stored once, because events read them without the lock. */
static void count_masks(void) {
    uint64_t active = 0, filtered = 0, tracing = 0, everywhere[SM_HOOK_KINDS] = {0}, somewhere[SM_HOOK_KINDS] = {0};
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++) {
        const sm_tool *tool = sm_hub.tools[slot];
        if (tool == NULL || !tool->active)
            continue;
        uint64_t bit = BIT(tool);
        active |= bit;
        filtered |= tool->filtered ? bit : 0;
        tracing |= tool->events & SM_HOOK_TRACING ? bit : 0;
        for (int kind = 0; kind < SM_HOOK_OPCODE; kind++)
            if (tool->events & SM_HOOK_BIT(kind))
                *(tool->filtered ? &somewhere[kind] : &everywhere[kind]) |= bit;
    }
    somewhere[SM_HOOK_OPCODE] = sm_hub.active & sm_hub.somewhere[SM_HOOK_OPCODE] & active;
    sm_hub.active = active;
    sm_hub.filtered = filtered;
    sm_hub.tracing = tracing;
    for (int kind = 0; kind < SM_HOOK_KINDS; kind++) {
        SM_WRITE(sm_hub.everywhere[kind], everywhere[kind]);
        sm_hub.somewhere[kind] = somewhere[kind];
    }
    for (sm_hook_thread *thread = sm_hub.threads; thread != NULL; thread = thread->next)
        thread->tools = tools_of(thread->tstate) & ~thread->left;
}

void sm_hub_finish(sm_tool *tool) {
    SM_EXCEPTION_GUARD;
    for (sm_hook_thread *thread = sm_hub.threads; thread != NULL; thread = thread->next) {
        drop_data(thread, tool);
        thread->left &= ~BIT(tool);
    }
    sm_hub.tools[tool->slot] = NULL;
    tool->leaving = false;
    tool->removed(tool);
}

/* Only the forking thread continues, so callbacks on other threads will never return. */
static void child_forked(void) {
    if (!sm_holds_gil()) /* a C thread forked: no Python can run in this child */
        return;
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++)
        if (sm_hub.tools[slot] != NULL)
            sm_hub.tools[slot]->inside = 0;
    for (sm_hook_visit *visit = sm_hook_this->visit; visit != NULL; visit = visit->outer)
        visit->tool->inside++;
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++) {
        sm_tool *tool = sm_hub.tools[slot];
        if (tool != NULL && tool->active && tool->forked != NULL)
            tool->forked(tool);
    }
}

static int prepare(void) {
    const char *why_not = sm_interpreter_objection();
    if (why_not != NULL)
        return SM_FAIL(PyExc_RuntimeError, "%s", why_not);
    static const sm_fork_calls calls = {.child = child_forked};
    if (!sm_forks_register(SM_FORK_HUB, &calls))
        return sm_no_memory();
    sm_codes_on_death(SM_CODE_HOOKS, code_died);
    return 0;
}

/* Return the slot above the highest in use, so that the newest tool receives first, or another free one. */
static int free_slot(void) {
    int top = SM_HUB_TOOLS;
    while (top > 0 && sm_hub.tools[top - 1] == NULL)
        top--;
    if (top < SM_HUB_TOOLS)
        return top;
    for (int slot = SM_HUB_TOOLS - 1; slot >= 0; slot--)
        if (sm_hub.tools[slot] == NULL)
            return slot;
    return SM_FAIL(PyExc_RuntimeError, "%d tools use seismo's hooks already, which is the limit: remove one first",
                   SM_HUB_TOOLS);
}

/* Remove the tool from all masks, without calling `removed`. */
static void take_out(sm_tool *tool) {
    SM_EXCEPTION_GUARD;
    begin_work();
    tool->active = false;
    tool->leaving = true;
    count_masks();
    withdraw(tool);
    if (sm_hub.active == 0)
        sm_hook_backend_here.stop();
    else if (sm_hook_backend_here.want() < 0)
        sm_hub.lost++;
    PyErr_Clear();
    end_work();
}

int sm_hub_add(sm_tool *tool) {
    SM_CORE_GUARD;
    int slot;
    if (prepare() < 0 || (slot = free_slot()) < 0)
        return -1;
    if (tool->only != NULL && sm_hub_find_thread(tool->only) == NULL && new_thread(tool->only) == NULL)
        return -1; /* the end of its thread would not be noticed without a record */
    if (sm_hub.active == 0 && sm_hook_backend_here.start != NULL && sm_hook_backend_here.start() < 0)
        return -1;
    if (!sm_hub.holds) {
        sm_hub.holds = true;
        sm_codes_hold();
    }
    tool->slot = (uint32_t)slot;
    tool->active = true;
    tool->leaving = false;
    tool->inside = 0;
    tool->since = SM_WRITE(sm_hub.changes, sm_hub.changes + 1);
    sm_hub.tools[slot] = tool;
    count_masks();
    bool again = sm_hub.switched_off;
    sm_hub.switched_off = false;
    if (sm_hook_backend_here.want() < 0 || (again && sm_hook_backend_here.again() < 0)) {
        take_out(tool);
        tool->leaving = false;
        sm_hub.tools[slot] = NULL;
        return -1;
    }
    if (tool->filtered)
        decide_running();
    return 0;
}

void sm_hub_remove(sm_tool *tool) {
    SM_CORE_GUARD;
    if (!tool->active)
        return;
    take_out(tool);
    if (tool->inside == 0 && tool->leaving)
        sm_hub_finish(tool);
}

void sm_hub_leave(sm_hook_thread *thread, sm_tool *tool) {
    SM_CORE_GUARD;
    if (tool->only != NULL) {
        sm_hub_remove(tool);
    } else if (tool->active) {
        thread->left |= BIT(tool);
        thread->tools &= ~BIT(tool);
    }
}

int sm_hub_opcodes(sm_tool *tool, PyCodeObject *code, bool on) {
    SM_CORE_GUARD;
    if (!tool->active)
        return 0;
    sm_hook_code *known = sm_hub_decide(code, NULL);
    if (known == NULL)
        return sm_no_memory();
    uint64_t before = known->wanted[SM_HOOK_OPCODE];
    uint64_t after = on ? before | BIT(tool) : before & ~BIT(tool);
    if (before == after)
        return 0;
    SM_WRITE(known->wanted[SM_HOOK_OPCODE], after);
    sm_hub.somewhere[SM_HOOK_OPCODE] |= after;
    begin_work();
    int result = give(known);
    end_work();
    return result;
}

void sm_hub_opcodes_again(PyCodeObject *code) {
    SM_CORE_GUARD;
    sm_hook_code *known = sm_hub_decide(code, NULL);
    if (known == NULL || known->wanted[SM_HOOK_OPCODE] == 0)
        return;
    begin_work();
    if (sm_hook_backend_here.want_in(code, known->given & ~SM_HOOK_BIT(SM_HOOK_OPCODE)) < 0 ||
        sm_hook_backend_here.want_in(code, known->given) < 0)
        PyErr_Clear();
    end_work();
}

int sm_hub_dispatch_all(sm_hook_thread *thread, uint64_t listeners, const sm_hook_event *event) {
    sm_exception first = {0};
    uint64_t now = sm_hub.changes;
    int result = 0;
    while (listeners != 0) {
        int slot = 63 - __builtin_clzll(listeners);
        listeners ^= 1ull << slot;
        sm_tool *tool = sm_hub.tools[slot];
        if (SM_UNLIKELY((sm_hub.active >> slot & 1) == 0 || tool->since > now))
            continue; /* the tool left or was added during this delivery */
        if (SM_UNLIKELY(sm_hub_dispatch_one(thread, tool, event) < 0)) {
            if (result == 0)
                first = sm_exception_keep();
            else
                PyErr_Clear(); /* only one exception can be raised */
            result = -1;
        }
    }
    if (SM_UNLIKELY(result < 0))
        sm_exception_restore(first);
    return result;
}

PyObject *sm_hub_status(void) {
    SM_CORE_GUARD;
    static const char *const names[SM_HOOK_KINDS] = {"start",  "resume",         "throw",    "return",  "yield",
                                                     "unwind", "c_call",         "c_return", "c_raise", "line",
                                                     "raise",  "stop_iteration", "opcode"};
    PyObject *events = PyList_New(0);
    for (int kind = 0; kind < SM_HOOK_KINDS && events != NULL; kind++) {
        if (sm_hub.everywhere[kind] == 0 && sm_hub.somewhere[kind] == 0)
            continue;
        PyObject *name = PyUnicode_FromString(names[kind]);
        if (name == NULL || PyList_Append(events, name) < 0)
            Py_CLEAR(events);
        Py_XDECREF(name);
    }
    if (events == NULL)
        return NULL;
    int tool_id = sm_hook_backend_here.tool_id != NULL ? sm_hook_backend_here.tool_id() : -1;
    bool held = sm_hub.active == 0 || sm_hook_backend_here.holds();
    return Py_BuildValue("{sssisisNsKsO}", "hook", sm_hook_backend_here.name, "tool_id", tool_id, "tools",
                         __builtin_popcountll(sm_hub.active), "events", events, "lost", (unsigned long long)sm_hub.lost,
                         "held", held ? Py_True : Py_False);
}
