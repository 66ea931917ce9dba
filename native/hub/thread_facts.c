#include "hub/thread_facts.h"

#include "compat/compat.h"
#include "compat/exception.h"

/* Return sys.modules[name].attribute, a new reference, or NULL without an exception. Imports nothing. */
static PyObject *from_module(const char *name, const char *attribute) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules != NULL && PyDict_Check(modules) ? PyDict_GetItemString(modules, name) : NULL;
    if (module == NULL || !PyModule_CheckExact(module))
        return NULL;
    PyObject *value = PyDict_GetItemString(PyModule_GetDict(module), attribute); /* bypasses __getattr__ */
    return Py_XNewRef(value);
}

static PyObject *only_text(PyObject *value) { /* steals the reference */
    if (value != NULL && PyUnicode_CheckExact(value))
        return value;
    Py_XDECREF(value);
    return NULL;
}

/* Look the thread up in threading's dict of running threads. */
static PyObject *thread_name(void) {
    PyObject *active = from_module("threading", "_active");
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = NULL, *name = NULL;
    if (active != NULL && PyDict_CheckExact(active) && ident != NULL)
        thread = PyDict_GetItemWithError(active, ident); /* borrowed */
    if (thread != NULL) {
        PyObject *held = Py_NewRef(thread);
        PyObject *fields = PyObject_GenericGetDict(held, NULL);
        if (fields != NULL && PyDict_CheckExact(fields))
            name = Py_XNewRef(PyDict_GetItemString(fields, "_name"));
        Py_XDECREF(fields);
        Py_DECREF(held);
    }
    Py_XDECREF(active);
    Py_XDECREF(ident);
    return only_text(name);
}

PyObject *sm_fact_thread_name(void) {
    SM_EXCEPTION_GUARD;
    PyObject *name = thread_name();
    PyErr_Clear();
    if (name == NULL && sm_is_main_thread())
        name = PyUnicode_FromString("MainThread");
    return name;
}

/* Return the running loop's task. Up to 3.11 only a dictionary has it. */
static PyObject *running_task(void) {
    PyObject *get_loop = from_module("_asyncio", "_get_running_loop");
    /* Check that the program has not replaced it. */
    PyObject *loop = get_loop != NULL && PyCFunction_Check(get_loop) ? PyObject_CallNoArgs(get_loop) : NULL;
    PyObject *task = NULL;
    if (loop != NULL && loop != Py_None) {
        PyObject *current = from_module("_asyncio", "current_task");
        if (current != NULL && PyCFunction_Check(current)) {
            task = PyObject_CallOneArg(current, loop);
        } else {
            PyObject *tasks = from_module("_asyncio", "_current_tasks");
            if (tasks != NULL && PyDict_CheckExact(tasks))
                task = Py_XNewRef(PyDict_GetItemWithError(tasks, loop));
            Py_XDECREF(tasks);
        }
        Py_XDECREF(current);
    }
    Py_XDECREF(get_loop);
    Py_XDECREF(loop);
    return task;
}

PyObject *sm_fact_task_name(void) {
    SM_EXCEPTION_GUARD;
    PyObject *task = running_task(), *name = NULL;
    if (task != NULL && task != Py_None) {
        PyObject *kind = from_module("_asyncio", "Task");
        /* A subclass may override the C type's method with code of the program. */
        if (kind != NULL && PyType_Check(kind) && PyObject_TypeCheck(task, (PyTypeObject *)kind))
            name = PyObject_CallMethod(kind, "get_name", "O", task);
        Py_XDECREF(kind);
    }
    Py_XDECREF(task);
    PyErr_Clear();
    return only_text(name);
}
