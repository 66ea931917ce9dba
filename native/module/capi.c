/* The C API of src/seismo/include/seismo.h, as a capsule. A hook is a tool of the hub or of the reference tracer
 * around an extension's C function. Its number is never reused, so removing it twice is harmless. Guarded by the
 * GIL, or by the core's lock (compat/core_lock.h). */
#include <Python.h>
#include <seismo.h>
#include <stddef.h>

#include "base/alloc.h"
#include "compat/core_lock.h"
#include "compat/frame.h"
#include "hooks/reference_tracer.h"
#include "hub/as_tracefunc.h"
#include "hub/backend.h"
#include "hub/tool_filter.h"
#include "module/module.h"

typedef struct hook {
    uint64_t id;
    int kind; /* SEISMO_PROFILE ... */
    union {   /* used by the hub or the reference tracer until it calls `removed` */
        sm_tool tool;
        sm_reference_tool ref;
    };
    Py_tracefunc func;
    PyObject *obj; /* owned; may be NULL */
    sm_tool_filter choice;
    seismo_ref_tracer ref_func;
    void (*release)(void *data);
    void *data;
    struct hook *next;
} hook;

static hook *hooks; /* owned: active hooks, and removed ones whose callback still runs */
static uint64_t last_id;

#define HOOK_OF(member, pointer) ((hook *)((char *)(pointer) - offsetof(hook, member)))

static bool active(const hook *hook) {
    return hook->kind == SEISMO_REF_TRACER ? hook->ref.active : hook->tool.active;
}

static hook *find(uint64_t id) {
    hook *found = hooks;
    while (found != NULL && found->id != id)
        found = found->next;
    return found != NULL && active(found) ? found : NULL;
}

static void destroy(hook *gone) {
    for (hook **link = &hooks; *link != NULL; link = &(*link)->next) {
        if (*link == gone) {
            *link = gone->next;
            break;
        }
    }
    SM_EXCEPTION_GUARD;
    sm_tool_filter_clear(&gone->choice);
    Py_CLEAR(gone->obj);
    if (gone->release != NULL)
        gone->release(gone->data);
    sm_free(gone);
}

/* ---- profile and trace ---- */

static uint32_t wants(sm_tool *tool, PyCodeObject *code, PyObject *globals) {
    return sm_tool_filter_of_code(&HOOK_OF(tool, tool)->choice, code, globals);
}

static inline int call_func(hook *hook, PyThreadState *tstate, PyFrameObject *frame, int what, PyObject *arg) {
    int result;
    SM_CORE_AWAY(result = hook->func(hook->obj, frame, what, arg));
    bool raised = sm_tstate_pending(tstate);
    if (SM_UNLIKELY(result != 0 && !raised))
        PyErr_SetString(PyExc_SystemError, "a hook set through seismo's C API returned -1 without an exception");
    return result != 0 || raised ? -1 : 0;
}

static int on_event(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event) {
    hook *self = HOOK_OF(tool, tool);
    if (self->choice.filter != NULL && !sm_tool_filter_of_event(&self->choice, event))
        return 0;
    PyFrameObject *frame = sm_hub_frame_of(thread); /* borrowed; it is running */
    PyObject *arg, *made;
    if (frame == NULL || sm_tracefunc_arg(event, &arg, &made) < 0)
        return -1;
    sm_frame_object *fields = (sm_frame_object *)frame;
    bool opcodes = fields->trace_opcodes;
    if (event->kind == SM_HOOK_LINE)
        fields->line = event->line;
    int result = call_func(self, thread->tstate, frame, sm_tracefunc_what(event), arg);
    if (event->kind == SM_HOOK_LINE)
        fields->line = 0;
    if (self->kind == SEISMO_TRACE && result == 0 && !opcodes && fields->trace_opcodes)
        result = sm_hub_opcodes(tool, event->code, true);
    Py_XDECREF(made);
    if (result < 0) /* Like in the interpreter, the hook is unset in this thread. */
        sm_hub_leave(thread, tool);
    return result;
}

static void tool_removed(sm_tool *tool) {
    destroy(HOOK_OF(tool, tool));
}

/* Remove the hooks before the interpreter is finalized. */
static PyObject *run_exit(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none)) {
    SM_CORE_GUARD;
    for (bool again = true; again;) {
        again = false;
        for (hook *hook = hooks; hook != NULL && !again; hook = hook->next) {
            if (hook->kind != SEISMO_REF_TRACER && hook->tool.active) {
                sm_hub_remove(&hook->tool);
                again = true; /* the list may have changed */
            }
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef exit_method = {"seismo_hooks_exit", run_exit, METH_NOARGS, NULL};

/* Return a new hook in the list, or NULL with a MemoryError set. */
static hook *new_hook(int kind) {
    hook *made = sm_calloc(1, sizeof *made);
    if (made == NULL)
        return (hook *)PyErr_NoMemory();
    made->kind = kind;
    made->id = ++last_id;
    made->next = hooks;
    hooks = made;
    return made;
}

/* Return the filter of an expression, held, or NULL with an exception set. */
static sm_filter *compile(const char *where, bool trace) {
    PyObject *text = PyUnicode_FromString(where);
    PyObject *made = text ? sm_compile_where(text, trace) : NULL;
    sm_filter *filter = made ? sm_filter_hold(sm_filter_from(made)) : NULL;
    Py_XDECREF(made);
    Py_XDECREF(text);
    return filter;
}

static uint64_t set_hook(int kind, Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where) {
    static bool prepared;
    SM_CORE_GUARD;
    bool trace = kind == SEISMO_TRACE;
    if (func == NULL) {
        PyErr_SetString(PyExc_ValueError, "a hook needs a function; to end one, call remove()");
        return 0;
    }
    if (!prepared && sm_register_call("atexit", "register", NULL, &exit_method) < 0)
        return 0;
    prepared = true;
    hook *self = new_hook(kind);
    if (self == NULL)
        return 0;
    if (where != NULL && (self->choice.filter = compile(where, trace)) == NULL) {
        destroy(self);
        return 0;
    }
    uint32_t events = trace ? SM_TRACE_EVENTS : SM_PROFILE_EVENTS;
    if (where != NULL)
        events &= sm_filter_kinds(self->choice.filter) | SM_HOOK_BIT(SM_HOOK_OPCODE);
    self->func = func;
    self->obj = Py_XNewRef(obj);
    self->tool = (sm_tool){
        .events = events,
        .filtered = where != NULL,
        .only = tstate,
        .call = on_event,
        .wants = wants,
        .removed = tool_removed,
    };
    uint64_t id = self->id;
    if (sm_hub_add(&self->tool) < 0) {
        destroy(self);
        return 0;
    }
    return id;
}

static uint64_t set_profile(Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where) {
    return set_hook(SEISMO_PROFILE, func, obj, tstate, where);
}

static uint64_t set_trace(Py_tracefunc func, PyObject *obj, PyThreadState *tstate, const char *where) {
    return set_hook(SEISMO_TRACE, func, obj, tstate, where);
}

static int trace_opcodes(uint64_t id, PyCodeObject *code, int on) {
    SM_CORE_GUARD;
    hook *self = find(id);
    if (self == NULL || self->kind != SEISMO_TRACE)
        return SM_FAIL(PyExc_ValueError, "this is not a trace hook, or it has been removed");
    return sm_hub_opcodes(&self->tool, code, on != 0);
}

/* ---- references ---- */

static int on_reference(sm_reference_tool *tool, PyObject *object, sm_reference_event event) {
    hook *self = HOOK_OF(ref, tool);
    return self->ref_func(object, (int)event, self->data);
}

static void ref_removed(sm_reference_tool *tool) {
    destroy(HOOK_OF(ref, tool));
}

static uint64_t set_ref_tracer(seismo_ref_tracer func, void *data, PyThreadState *tstate, void (*release)(void *)) {
    if (func == NULL) {
        PyErr_SetString(PyExc_ValueError, "a hook needs a function; to end one, call remove()");
        return 0;
    }
    hook *self = sm_reftracer_prepare() < 0 ? NULL : new_hook(SEISMO_REF_TRACER);
    if (self == NULL)
        return 0;
    self->ref_func = func;
    self->data = data;
    self->ref = (sm_reference_tool){.only = tstate, .call = on_reference, .removed = ref_removed};
    uint64_t id = self->id;
    if (sm_reference_add(&self->ref) < 0) {
        destroy(self);
        return 0;
    }
    self->release = release;
    return id;
}

/* ---- all ---- */

static int remove_hook(uint64_t id) {
    SM_CORE_GUARD;
    hook *self = find(id);
    if (self == NULL)
        return 0;
    if (self->kind == SEISMO_REF_TRACER)
        sm_reference_remove(&self->ref);
    else
        sm_hub_remove(&self->tool);
    return 1;
}

static int is_active(uint64_t id) {
    SM_CORE_GUARD;
    return find(id) != NULL;
}

static uint32_t count(int kind) {
    SM_CORE_GUARD;
    uint32_t found = 0;
    for (const hook *hook = hooks; hook != NULL; hook = hook->next)
        found += hook->kind == kind && active(hook);
    return found;
}

static const char *backend(int kind) {
    if (kind == SEISMO_REF_TRACER)
        return sm_reference_hook_objection() == NULL ? "PyRefTracer" : NULL;
    return kind == SEISMO_PROFILE || kind == SEISMO_TRACE ? sm_hook_backend_here.name : NULL;
}

static const seismo_api api = {
    .size = sizeof(seismo_api),
    .major = SEISMO_API_MAJOR,
    .minor = SEISMO_API_MINOR,
    .set_profile = set_profile,
    .set_trace = set_trace,
    .set_ref_tracer = set_ref_tracer,
    .remove = remove_hook,
    .is_active = is_active,
    .trace_opcodes = trace_opcodes,
    .count = count,
    .backend = backend,
};

int sm_module_add_capi(PyObject *module) {
    PyObject *capsule = PyCapsule_New((void *)&api, SEISMO_CAPSULE, NULL);
    int done = capsule ? PyModule_AddObjectRef(module, "_C_API", capsule) : -1;
    Py_XDECREF(capsule);
    return done;
}
