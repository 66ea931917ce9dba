#include "hooks/gc_callbacks.h"

#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/runtime.h"

static struct {
    sm_pause_call call; /* NULL if no recording needs pauses */
    PyObject **place;   /* the interpreter's pointer to its list */
    PyObject *ours;     /* owned by the interpreter while installed */
    PyObject *theirs;   /* owned while ours is installed */
    int inside;         /* atomic; calls of our function; its list must not change meanwhile */
} collector;

static void pass_on(PyObject *const *arguments, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(collector.theirs); i++) {
        PyObject *callback = Py_NewRef(PyList_GET_ITEM(collector.theirs, i));
        PyObject *result = PyObject_Vectorcall(callback, arguments, (size_t)count, NULL);
        if (result == NULL)
            sm_collector_unraisable(callback);
        Py_XDECREF(result);
        Py_DECREF(callback);
    }
}

long sm_pause_number(const sm_pause *pause, const char *name) {
    PyObject *value = PyDict_CheckExact(pause->info) ? PyDict_GetItemString(pause->info, name) : NULL;
    long number = value != NULL && PyLong_CheckExact(value) ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    return number;
}

static void note(const sm_pause *pause) {
    SM_CORE_GUARD;
    if (collector.call != NULL)
        collector.call(pause);
}

static PyObject *around(PyObject *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count) {
    bool known = count == 2 && PyUnicode_CheckExact(arguments[0]);
    bool begins = known && PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0;
    __atomic_fetch_add(&collector.inside, 1, __ATOMIC_ACQUIRE);
    if (begins)
        pass_on(arguments, count);
    if (known)
        note(&(sm_pause){begins, arguments[1]});
    if (!begins)
        pass_on(arguments, count);
    __atomic_fetch_sub(&collector.inside, 1, __ATOMIC_RELEASE);
    Py_RETURN_NONE;
}

/* Return a list with our function. The collector tracks neither, so gc.get_objects() does not show them. */
static PyObject *make_list(void) {
    static PyMethodDef definition = {"around", (PyCFunction)(void (*)(void))around, METH_FASTCALL, NULL};
    PyObject *function = PyCFunction_New(&definition, NULL);
    PyObject *list = function != NULL ? PyList_New(1) : NULL;
    if (list == NULL) {
        Py_XDECREF(function);
        return NULL;
    }
    PyObject_GC_UnTrack(function);
    PyObject_GC_UnTrack(list);
    PyList_SET_ITEM(list, 0, function);
    return list;
}

static bool stands(void) {
    return collector.ours != NULL && *collector.place == collector.ours;
}

static bool put_ours(void) {
    /* The module must bind the program's list before ours is installed. */
    PyObject *gc = PyImport_ImportModule("gc");
    Py_XDECREF(gc);
    collector.place = gc != NULL ? sm_collector_callbacks() : NULL;
    PyObject *list = collector.place != NULL ? make_list() : NULL;
    if (list == NULL)
        return false;
    sm_world_stop();
    collector.theirs = *collector.place;
    *collector.place = collector.ours = list;
    sm_world_start();
    return true;
}

bool sm_collector_notify(sm_pause_call call) {
    collector.call = call;
    PyObject *ended = NULL;
    sm_world_stop(); /* no collection is between two callbacks */
    if (stands() && call == NULL && __atomic_load_n(&collector.inside, __ATOMIC_ACQUIRE) == 0) {
        *collector.place = collector.theirs;
        ended = collector.ours;
        collector.theirs = collector.ours = NULL;
    }
    sm_world_start();
    Py_XDECREF(ended);
    if (call == NULL || stands())
        return call != NULL;
    SM_EXCEPTION_GUARD;
    bool put = put_ours();
    PyErr_Clear();
    return put;
}
