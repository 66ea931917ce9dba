/* seismo._core.Watch: a watch that reports its matches to a Python function, and functions for such reports. */
#include <Python.h>
#include <string.h>
#include <structmember.h>

#include "base/alloc.h"
#include "compat/core_lock.h"
#include "compat/frame.h"
#include "compat/runtime.h"
#include "hub/thread_facts.h"
#include "hub/watch.h"
#include "module/containers.h"
#include "module/module.h"

typedef struct {
    PyObject_HEAD sm_watch watch;
    PyObject *report, *evaluate; /* owned; NULL if unused, or once the hub is done with it */
    char *hide;                  /* owned */
    bool started, running;
} watch_object;

static watch_object *object_of(sm_watch *watch) {
    return (watch_object *)((char *)watch - offsetof(watch_object, watch));
}

/* Return true if the current exception is the user's Ctrl-C; clear any other, which is our own error. */
static bool is_interrupt(sm_watch *watch) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        return true;
    PyErr_Clear();
    watch->lost++;
    return false;
}

static sm_verdict ask_python(sm_watch *watch, uint32_t term) {
    watch_object *self = object_of(watch);
    PyFrameObject *frame = self->evaluate ? sm_hub_frame() : NULL;
    PyObject *answer = NULL;
    if (frame != NULL)
        SM_CORE_AWAY(answer = PyObject_CallFunction(self->evaluate, "IO", term, frame));
    sm_verdict verdict = answer == Py_True ? SM_YES : answer == Py_False ? SM_NO : SM_UNKNOWN;
    Py_XDECREF(answer);
    if (PyErr_Occurred() && is_interrupt(watch)) {
        PyObject *raised = Py_NewRef(PyErr_Occurred());
        PyErr_Clear();
        Py_XSETREF(watch->raised, raised);
    }
    return verdict;
}

static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static int hand_to_python(sm_watch *watch, const sm_match *match) {
    watch_object *self = object_of(watch);
    PyFrameObject *frame = sm_hub_frame();
    if (frame == NULL || self->report == NULL) {
        watch->lost++;
        PyErr_Clear();
        return 0;
    }
    const sm_hook_event *event = match->event;
    PyObject *report = Py_NewRef(self->report); /* the action may remove the watch */
    PyObject *done;
    SM_CORE_AWAY(done = PyObject_CallFunction(
                     report, "iiiOOiLLKIKLNN", (int)match->moment, (int)match->kind, (int)event->kind, frame,
                     event->arg ? event->arg : Py_None, event->line, (long long)match->duration_ns,
                     (long long)match->own_ns, (unsigned long long)match->call, (unsigned)match->nesting,
                     (unsigned long long)match->calls, (long long)sm_tstate_depth(PyThreadState_Get()),
                     text_of(match->function->module), text_of(match->function->qualname)));
    Py_DECREF(report);
    Py_XDECREF(done);
    return done == NULL && is_interrupt(watch) ? -1 : 0;
}

static void done(sm_watch *watch) {
    watch_object *self = object_of(watch);
    SM_EXCEPTION_GUARD;
    self->running = false;
    Py_CLEAR(self->report);
    Py_CLEAR(self->evaluate);
    Py_DECREF(self); /* reference of the hub */
}

static PyObject *watch_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"filter", "kinds", "report", "evaluate", "ends",        "lines",     "tracks",
                            "all",    "times", "limit",  "hide",     "this_thread", "machinery", NULL};
    PyObject *filter, *report = Py_None, *evaluate = Py_None; /* borrowed */
    unsigned kinds = 0;
    int ends = 0, lines = 0, tracks = 0, all = 0, times = 0, this_thread = 0, machinery = 0;
    unsigned long long limit = UINT64_MAX;
    const char *hide = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OI|OOpppppKzpp:Watch", names, &filter, &kinds, &report,
                                     &evaluate, &ends, &lines, &tracks, &all, &times, &limit, &hide, &this_thread,
                                     &machinery))
        return NULL;
    sm_filter *held = sm_filter_from(filter);
    if (held == NULL)
        return NULL;
    watch_object *self = (watch_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->watch.filter = sm_filter_hold(held);
    self->watch.kinds = kinds;
    self->watch.ends = ends;
    self->watch.lines = lines;
    self->watch.tracks = tracks;
    self->watch.keeps_all = all;
    self->watch.machinery = machinery;
    self->watch.times = times;
    self->watch.tool.only = this_thread ? PyThreadState_Get() : NULL;
    self->watch.limit = limit;
    self->watch.done = done;
    if (report != Py_None) {
        self->report = Py_NewRef(report);
        self->watch.report = hand_to_python;
    }
    if (evaluate != Py_None) {
        self->evaluate = Py_NewRef(evaluate);
        self->watch.python = ask_python;
    }
    if (hide != NULL && hide[0] != '\0') {
        self->hide = sm_copy_chars(hide);
        if (self->hide == NULL) {
            Py_DECREF(self);
            return PyErr_NoMemory();
        }
        self->watch.hide = self->hide;
    }
    return (PyObject *)self;
}

static void watch_dealloc(PyObject *object) {
    watch_object *self = (watch_object *)object; /* not running, because the hub holds it while it is */
    sm_watch_release(&self->watch);
    Py_XDECREF(self->report);
    Py_XDECREF(self->evaluate);
    sm_free(self->hide);
    sm_object_free(object);
}

static PyObject *watch_start(PyObject *object, PyObject *Py_UNUSED(none)) {
    watch_object *self = (watch_object *)object;
    if (self->started)
        return PyErr_Format(PyExc_RuntimeError, "this watch has been started before");
    SM_CORE_GUARD;
    self->started = self->running = true;
    Py_INCREF(self); /* reference of the hub, until done() */
    if (sm_watch_start(&self->watch) < 0) {
        if (self->running) /* otherwise the hub has called done() */
            done(&self->watch);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *watch_stop(PyObject *object, PyObject *Py_UNUSED(none)) {
    SM_CORE_GUARD;
    if (((watch_object *)object)->running)
        sm_hub_remove(&((watch_object *)object)->watch.tool);
    Py_RETURN_NONE;
}

static PyObject *buckets_of(const sm_watched *of) {
    PyObject *list = PyTuple_New(of->buckets == NULL ? 0 : SM_WATCH_BUCKETS);
    for (int i = 0; list != NULL && of->buckets != NULL && i < SM_WATCH_BUCKETS; i++) {
        PyObject *count = PyLong_FromUnsignedLong(of->buckets[i]);
        if (count == NULL)
            Py_CLEAR(list);
        else
            PyTuple_SET_ITEM(list, i, count);
    }
    return list;
}

/* Return a row for each function that was seen: (module, qualname, file, line, possible, calls, matches, timed,
 * sum_ns, min_ns, max_ns, buckets, own_ns). */
static PyObject *watch_functions(PyObject *object, PyObject *Py_UNUSED(none)) {
    SM_CORE_GUARD;
    const sm_watch *watch = &((watch_object *)object)->watch;
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < watch->functions_size; i++) {
        const sm_watched *of = watch->functions[i];
        if (of == NULL || of->hidden)
            continue;
        const sm_function *f = of->function;
        sm_list_add(&rows, Py_BuildValue("NNNiNKKKdddNd", text_of(f->module), text_of(f->qualname), text_of(f->file),
                                         f->line, PyBool_FromLong((of->verdict.yes | of->verdict.maybe) != 0),
                                         (unsigned long long)of->calls, (unsigned long long)of->matches,
                                         (unsigned long long)of->timed, of->sum_ns, of->min_ns, of->max_ns,
                                         buckets_of(of), of->own_ns));
    }
    return rows;
}

static PyMethodDef watch_methods[] = {
    {"start", watch_start, METH_NOARGS, NULL},
    {"stop", watch_stop, METH_NOARGS, NULL},
    {"functions", watch_functions, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef watch_members[] = {
    {"matched", T_ULONGLONG, offsetof(watch_object, watch.matched), READONLY, NULL},
    {"lost", T_ULONGLONG, offsetof(watch_object, watch.lost), READONLY, NULL},
    {"running", T_BOOL, offsetof(watch_object, running), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot watch_slots[] = {
    {Py_tp_new, watch_new},
    {Py_tp_dealloc, watch_dealloc},
    {Py_tp_methods, watch_methods},
    {Py_tp_members, watch_members},
    {0, NULL},
};

PyType_Spec sm_type_watch = {
    .name = "seismo._core.Watch",
    .basicsize = sizeof(watch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = watch_slots,
};

/* Functions. */

/* Return a dict of the local variables, without the snapshot of f_locals up to 3.12, which the program could notice:
 * a function's variables that have a value, in the order of definition, or a copy of another namespace. */
static PyObject *frame_locals(PyObject *Py_UNUSED(module), PyObject *object) {
    if (!PyFrame_Check(object))
        return PyErr_Format(PyExc_TypeError, "not a frame");
    PyFrameObject *frame = (PyFrameObject *)object;
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *variables = NULL;
    if ((code->co_flags & CO_OPTIMIZED) == 0) {
        PyObject *namespace = PyFrame_GetLocals(frame);
        if (namespace == NULL)
            PyErr_Clear();
        /* A class body's namespace may be a mapping of the program's. */
        variables = namespace != NULL && PyDict_CheckExact(namespace) ? PyDict_Copy(namespace) : PyDict_New();
        Py_XDECREF(namespace);
        Py_DECREF(code);
        return variables;
    }
    variables = PyDict_New();
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_localsplusnames);
    for (Py_ssize_t i = 0; variables != NULL && i < count; i++) {
        PyObject *value = sm_frame_variable(frame, code, (int)i);
        if (value != NULL && PyDict_SetItem(variables, PyTuple_GET_ITEM(code->co_localsplusnames, i), value) < 0)
            Py_CLEAR(variables);
        Py_XDECREF(value);
    }
    Py_DECREF(code);
    return variables;
}

/* Return the instance's own dict, bypassing any property, or None. */
static PyObject *instance_dict(PyObject *Py_UNUSED(module), PyObject *object) {
    PyObject *fields = PyType_Check(object) ? NULL : PyObject_GenericGetDict(object, NULL);
    if (fields != NULL && PyDict_CheckExact(fields))
        return fields;
    Py_XDECREF(fields);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *where_am_i(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    PyObject *thread = sm_fact_thread_name(), *task = sm_fact_task_name();
    thread = thread ? thread : PyUnicode_FromString("");
    task = task ? task : PyUnicode_FromString("");
    return Py_BuildValue("NN", thread, task);
}

static PyObject *watch_bucket(PyObject *Py_UNUSED(module), PyObject *number) {
    long bucket = PyLong_AsLong(number);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(sm_watch_bucket((int)bucket));
}

static PyObject *interpreters(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    return Py_BuildValue("KK", (unsigned long long)sm_interpreters_gone(), (unsigned long long)sm_interpreters_made());
}

PyMethodDef sm_methods_watch[] = {
    {"interpreters", interpreters, METH_NOARGS,
     "Return how many interpreters have come and gone (less those that still live, the main one included), and how "
     "many there have been in all."},
    {"frame_locals", frame_locals, METH_O, NULL},
    {"instance_dict", instance_dict, METH_O, NULL},
    {"where_am_i", where_am_i, METH_NOARGS, NULL},
    {"watch_bucket", watch_bucket, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
