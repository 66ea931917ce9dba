/* seismo._core.RefTracer: a Python callback as a tool of the reference tracer. It gets batches of events at safe
 * points, at flush() and at remove(). Objects that the callback itself makes are in no batch. */
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "hooks/reference_tracer.h"
#include "hooks/safepoint.h"
#include "hub/reference_batch.h"
#include "module/containers.h"
#include "module/module.h"

typedef struct {
    PyObject_HEAD sm_reference_tool tool;
    PyObject *callback; /* owned */
    sm_reference_batch batch;
    bool delivering; /* the callback runs, on some thread */
    uint64_t batches;
} tracer;

static PyObject *names[4]; /* owned; the names of events by number, and "lost" */

static SM_FAST_TLS bool delivering_here;

static tracer *tracer_of(sm_reference_tool *tool) {
    return (tracer *)((char *)tool - offsetof(tracer, tool));
}

static int on_event(sm_reference_tool *tool, PyObject *object, sm_reference_event event) {
    if (SM_UNLIKELY(event == SM_REFERENCE_REMOVED ? !tool->active : delivering_here))
        return 0;
    if (SM_UNLIKELY(sm_reference_batch_add(&tracer_of(tool)->batch, object, event)))
        sm_safepoint_ask();
    return 0;
}

/* Deliver the batch, unless a delivery is under way. Return -1 with the callback's exception set. */
static int deliver(tracer *self) {
    if (self->delivering || self->callback == NULL || sm_reference_batch_empty(&self->batch))
        return 0;
    bool outer = delivering_here;
    self->delivering = delivering_here = true;
    Py_INCREF(self);
    int done = -1;
    PyObject *list = sm_reference_batch_take(&self->batch, names);
    if (list != NULL) {
        self->batches++;
        PyObject *callback = Py_NewRef(self->callback);
        PyThreadState *tstate = PyThreadState_Get();
        PyThreadState_EnterTracing(tstate); /* hidden from profilers and debuggers too */
        PyObject *result = PyObject_CallOneArg(callback, list);
        PyThreadState_LeaveTracing(tstate);
        Py_DECREF(list);
        Py_DECREF(callback);
        done = result != NULL ? 0 : -1;
        Py_XDECREF(result);
    }
    if (done < 0)
        sm_reference_remove(&self->tool);
    self->delivering = false;
    Py_DECREF(self);
    delivering_here = outer;
    return done;
}

static void at_safe_point(sm_reference_tool *tool) {
    if (deliver(tracer_of(tool)) < 0)
        PyErr_WriteUnraisable(tracer_of(tool)->callback);
}

static void forked(sm_reference_tool *tool) { /* undelivered events belong to the parent */
    bool outer = delivering_here;
    delivering_here = true;
    sm_reference_batch_forget(&tracer_of(tool)->batch);
    delivering_here = outer;
}

static void removed(sm_reference_tool *tool) {
    Py_DECREF(tracer_of(tool));
}

/* ---- exit and forks ---- */

static PyObject *run_exit(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none)) {
    sm_reference_exit();
    Py_RETURN_NONE;
}

static PyObject *run_forked(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none)) {
    sm_reference_forked();
    Py_RETURN_NONE;
}

static PyMethodDef exit_method = {"seismo_reference_tracer_exit", run_exit, METH_NOARGS, NULL};
static PyMethodDef forked_method = {"seismo_reference_tracer_forked", run_forked, METH_NOARGS, NULL};

int sm_register_call(const char *module_name, const char *registrar, const char *keyword, PyMethodDef *method) {
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *call = module ? PyObject_GetAttrString(module, registrar) : NULL;
    PyObject *function = call ? PyCFunction_New(method, NULL) : NULL;
    PyObject *positional = function ? (keyword ? PyTuple_New(0) : PyTuple_Pack(1, function)) : NULL;
    PyObject *keywords = positional && keyword ? Py_BuildValue("{sO}", keyword, function) : NULL;
    PyObject *result = positional && (keywords || !keyword) ? PyObject_Call(call, positional, keywords) : NULL;
    Py_XDECREF(keywords);
    Py_XDECREF(positional);
    Py_XDECREF(function);
    Py_XDECREF(call);
    Py_XDECREF(module);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

int sm_reftracer_prepare(void) {
    static bool prepared;
    if (prepared || sm_reference_objection() != NULL)
        return 0; /* sm_reference_add reports the reason */
    static const char *const texts[4] = {"create", "destroy", "removed", "lost"};
    for (int i = 0; i < 4; i++)
        if (names[i] == NULL && (names[i] = PyUnicode_InternFromString(texts[i])) == NULL)
            return -1;
    /* compat/forks.h is too early: the interpreter has not yet reset its threads and locks in the child. */
    if (sm_register_call("os", "register_at_fork", "after_in_child", &forked_method) < 0 ||
        sm_register_call("atexit", "register", NULL, &exit_method) < 0)
        return -1;
    prepared = true;
    return 0;
}

/* ---- the type ---- */

static PyObject *tracer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *keys[] = {"callback", "current", "size", NULL};
    PyObject *callback;
    int current = 0;
    unsigned int size = 32768;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|pI:RefTracer", keys, &callback, &current, &size))
        return NULL;
    if (!PyCallable_Check(callback))
        return PyErr_Format(PyExc_TypeError, "the callback is not callable");
    if (size < 2 || size > 1u << 24)
        return PyErr_Format(PyExc_ValueError, "size must be 2 to 16777216 events");
    if (sm_reftracer_prepare() < 0)
        return NULL;
    tracer *self = (tracer *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (!sm_reference_batch_init(&self->batch, size)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->callback = Py_NewRef(callback);
    self->tool.only = current ? PyThreadState_Get() : NULL;
    self->tool.call = on_event;
    self->tool.safe = self->tool.exiting = at_safe_point;
    self->tool.forked = forked;
    self->tool.removed = removed;
    Py_INCREF(self); /* the hook's reference, until `removed` */
    if (sm_reference_add(&self->tool) < 0) {
        Py_DECREF(self);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int tracer_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((tracer *)self)->callback);
    return 0;
}

static int tracer_clear(PyObject *self) {
    Py_CLEAR(((tracer *)self)->callback);
    return 0;
}

static void tracer_dealloc(PyObject *object) { /* the tool is removed, so no event comes */
    tracer *self = (tracer *)object;
    PyObject_GC_UnTrack(object);
    sm_reference_batch_free(&self->batch);
    Py_CLEAR(self->callback);
    sm_object_free(object);
}

static PyObject *tracer_flush(PyObject *object, PyObject *Py_UNUSED(none)) {
    sm_reference_poll();
    return sm_none(deliver((tracer *)object));
}

static PyObject *tracer_remove(PyObject *object, PyObject *Py_UNUSED(none)) {
    tracer *self = (tracer *)object;
    if (self->tool.active) {
        sm_reference_poll(); /* reports a lost slot */
        sm_reference_remove(&self->tool);
        if (deliver(self) < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *tracer_enter(PyObject *self, PyObject *Py_UNUSED(none)) {
    return Py_NewRef(self);
}

static PyObject *tracer_exit(PyObject *self, PyObject *Py_UNUSED(args)) {
    return tracer_remove(self, NULL);
}

static PyObject *tracer_status(PyObject *object, PyObject *Py_UNUSED(none)) {
    tracer *self = (tracer *)object;
    PyObject *status = sm_reference_status();
    sm_dict_join(&status,
                 Py_BuildValue("{sOsKsK}", "active", self->tool.active ? Py_True : Py_False, "taken",
                               (unsigned long long)self->tool.taken, "batches", (unsigned long long)self->batches));
    return status;
}

static PyMethodDef tracer_methods[] = {
    {"flush", tracer_flush, METH_NOARGS,
     "flush()\n\nGive the callback now what has been collected. An exception that it raises removes it and is raised "
     "here."},
    {"remove", tracer_remove, METH_NOARGS,
     "remove()\n\nStop calling the callback, after a last batch of what happened until now. Does nothing when that has "
     "been done already."},
    {"status", tracer_status, METH_NOARGS,
     "status() -> dict\n\nReturn active; batches: how many were delivered; taken: how often another tool took the "
     "hook; blind_ns: for how long no tracer received anything because of that; holding: whether events arrive now; "
     "chained: whether another tool's tracer is called as well; tools: how many receive events; failed."},
    {"__enter__", tracer_enter, METH_NOARGS, NULL},
    {"__exit__", tracer_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef tracer_members[] = {
    {"callback", T_OBJECT, offsetof(tracer, callback), READONLY, "The function that is called with each batch."},
    {"active", T_BOOL, offsetof(tracer, tool.active), READONLY, "Whether it still receives events."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot tracer_slots[] = {
    {Py_tp_new, tracer_new},
    {Py_tp_traverse, tracer_traverse},
    {Py_tp_clear, tracer_clear},
    {Py_tp_dealloc, tracer_dealloc},
    {Py_tp_methods, tracer_methods},
    {Py_tp_members, tracer_members},
    {Py_tp_doc, "RefTracer(callback, current=False, size=32768)\n\nReceives the creation and destruction of objects; "
                "see seismo.hooks.set_ref_tracer."},
    {0, NULL},
};

PyType_Spec sm_type_reference_tracer = {
    .name = "seismo._core.RefTracer",
    .basicsize = sizeof(tracer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = tracer_slots,
};

static PyObject *get_ref_tracer(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    sm_reference_tool *tool = sm_reference_newest(on_event);
    return Py_NewRef(tool ? tracer_of(tool)->callback : Py_None);
}

#ifdef SM_TESTING
static PyObject *ref_objection(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    return Py_BuildValue("z", sm_reference_hook_objection());
}
#endif

PyMethodDef sm_methods_reference_tracer[] = {
    {"get_ref_tracer", get_ref_tracer, METH_NOARGS, "Return the callback of the newest active RefTracer, or None."},
#ifdef SM_TESTING
    {"ref_objection", ref_objection, METH_NOARGS, "Return why references cannot be traced here, or None."},
#endif
    {NULL, NULL, 0, NULL},
};
