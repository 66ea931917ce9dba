/* Overrides of the builtins by which a process ends or starts another, while a recording needs notification.
 *
 * A builtin finds its C function through its PyMethodDef, in writable memory of its module. These entries get our
 * functions, which notify the receiver and call the originals. The function objects stay the same, and their exceptions
 * have no frame of ours. chroot and setuid are included because they may put files out of reach.
 *
 * The receiver is called as receiver(name, values, names) with the vectorcall arguments; it may return a tuple of
 * other values. After a failed exec it is called as receiver(name, None, ()). It runs untraced and with delayed
 * signal handlers. */
#include <limits.h>

#include "compat/method_entry.h"
#include "module/module.h"

/* The overridden functions. From SPAWN on they start processes. */
#define EACH_METHOD(OF)                                                                                                \
    OF(EXIT, "posix", "_exit")                                                                                         \
    OF(EXECV, "posix", "execv")                                                                                        \
    OF(EXECVE, "posix", "execve")                                                                                      \
    OF(CHROOT, "posix", "chroot")                                                                                      \
    OF(SETUID, "posix", "setuid")                                                                                      \
    OF(SETEUID, "posix", "seteuid")                                                                                    \
    OF(SETREUID, "posix", "setreuid")                                                                                  \
    OF(SETRESUID, "posix", "setresuid")                                                                                \
    OF(SPAWN, "posix", "posix_spawn")                                                                                  \
    OF(SPAWNP, "posix", "posix_spawnp")                                                                                \
    OF(FORK_EXEC, "_posixsubprocess", "fork_exec")

#define NUMBER(METHOD, module, name) METHOD,
typedef enum { EACH_METHOD(NUMBER) METHODS } method;
typedef PyObject *(*fast_function)(PyObject *self, PyObject *const *values, Py_ssize_t count);
typedef PyObject *(*keyword_function)(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names);

static struct { /* guarded by the GIL; shared by all interpreters, unlike the receiver */
    PyMethodDef *entry;
    PyCFunction original; /* NULL if not overridden; kept while another tool's function may call ours */
    PyCFunction ours;
} methods[METHODS];
static PyObject *receiver; /* owned, or NULL */

#define PLACE(METHOD, module, name) {module, name},
static const struct {
    const char *module, *name;
} places[METHODS] = {EACH_METHOD(PLACE)};

static bool listens(void) { /* false in a subinterpreter, which shares the tables */
    return receiver != NULL && PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* Call the receiver. Return a tuple of replaced values, or NULL without an exception to keep them. */
static PyObject *invoke(method of, PyObject *values, PyObject *names) {
    SM_EXCEPTION_GUARD; /* drops the receiver's exception */
    PyObject *receives = Py_NewRef(receiver), *empty = PyTuple_New(0), *answer = NULL;
    PyThreadState *tstate = PyThreadState_Get();
    bool held = sm_signals_hold();
    PyThreadState_EnterTracing(tstate);
    if (empty != NULL)
        answer = PyObject_CallFunction(receives, "sOO", places[of].name, values, names != NULL ? names : empty);
    PyThreadState_LeaveTracing(tstate);
    if (held)
        sm_signals_release(of != EXIT);
    if (answer == NULL || !PyTuple_CheckExact(answer) || !PyTuple_CheckExact(values) ||
        PyTuple_GET_SIZE(answer) != PyTuple_GET_SIZE(values))
        Py_CLEAR(answer);
    Py_XDECREF(empty);
    Py_DECREF(receives);
    return answer;
}

static PyObject *original(method of, PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    PyCFunction function = methods[of].original;
    switch (methods[of].entry->ml_flags & (METH_VARARGS | METH_FASTCALL | METH_KEYWORDS | METH_O)) {
    case METH_FASTCALL | METH_KEYWORDS:
        return ((keyword_function)(void (*)(void))function)(self, values, count, names);
    case METH_FASTCALL:
        return ((fast_function)(void (*)(void))function)(self, values, count);
    case METH_O:
        return function(self, values[0]);
    default: {
        PyObject *tuple = PyTuple_New(count), *result = NULL;
        for (Py_ssize_t i = 0; tuple != NULL && i < count; i++)
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
        if (tuple != NULL)
            result = function(self, tuple);
        Py_XDECREF(tuple);
        return result;
    }
    }
}

/* Return os._exit's argument as an int, a new reference, or NULL if it is invalid. Converting may run the program's
 * code, so it is done once. */
static PyObject *exit_status(PyObject *const *values, Py_ssize_t count, PyObject *names) {
    Py_ssize_t named = names != NULL ? PyTuple_GET_SIZE(names) : 0;
    if (count + named != 1 || !PyIndex_Check(values[0]) ||
        (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "status") != 0))
        return NULL;
    return PyNumber_Index(values[0]);
}

static bool is_int(PyObject *number) {
    int overflow;
    long value = PyLong_AsLongAndOverflow(number, &overflow);
    return overflow == 0 && value >= INT_MIN && value <= INT_MAX;
}

static PyObject *entered(method of, PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    if (!listens())
        return original(of, self, values, count, names);
    PyObject *status = NULL;
    if (of == EXIT) {
        status = exit_status(values, count, names);
        if (status == NULL && PyErr_Occurred())
            return NULL;
        if (status == NULL || !is_int(status)) {
            PyObject *refused = original(of, self, status != NULL ? &status : values, count, names);
            Py_XDECREF(status);
            return refused;
        }
        values = &status;
    }
    Py_ssize_t all = count + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    PyObject *given = PyTuple_New(all), *other = NULL;
    for (Py_ssize_t i = 0; given != NULL && i < all; i++)
        PyTuple_SET_ITEM(given, i, Py_NewRef(values[i]));
    if (given != NULL)
        other = invoke(of, given, names);
    else
        PyErr_Clear();
    PyObject *const *now = other != NULL ? ((PyTupleObject *)other)->ob_item : values;
    PyObject *result = original(of, self, now, count, names);
    if ((of == EXECV || of == EXECVE) && listens())
        Py_XDECREF(invoke(of, Py_None, NULL));
    Py_XDECREF(other);
    Py_XDECREF(given);
    Py_XDECREF(status);
    return result;
}

/* Each of them has a function of ours for every calling convention. */
#define FUNCTIONS(METHOD, module, name)                                                                                \
    static PyObject *METHOD##_keywords(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {   \
        return entered(METHOD, self, values, count, names);                                                            \
    }                                                                                                                  \
    static PyObject *METHOD##_fast(PyObject *self, PyObject *const *values, Py_ssize_t count) {                        \
        return entered(METHOD, self, values, count, NULL);                                                             \
    }                                                                                                                  \
    static PyObject *METHOD##_tuple(PyObject *self, PyObject *args) {                                                  \
        return entered(METHOD, self, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), NULL);                  \
    }                                                                                                                  \
    static PyObject *METHOD##_one(PyObject *self, PyObject *value) {                                                   \
        return entered(METHOD, self, &value, 1, NULL);                                                                 \
    }
EACH_METHOD(FUNCTIONS)

#define WAYS(METHOD, module, name)                                                                                     \
    {(PyCFunction)(void (*)(void))METHOD##_keywords, (PyCFunction)(void (*)(void))METHOD##_fast, METHOD##_tuple,       \
     METHOD##_one},
static const PyCFunction ways[METHODS][4] = {EACH_METHOD(WAYS)};

/* Return our function for this calling convention, or NULL if it is unknown. */
static PyCFunction way_of(method of, int flags) {
    switch (flags & ~METH_STATIC) {
    case METH_FASTCALL | METH_KEYWORDS:
        return ways[of][0];
    case METH_FASTCALL:
        return ways[of][1];
    case METH_VARARGS:
        return ways[of][2];
    case METH_O:
        return ways[of][3];
    default:
        return NULL;
    }
}

/* A builtin's hash depends on ml_meth, so the sets of os that contain it are updated. */
static const char *const sets[] = {"supports_fd", "supports_dir_fd", "supports_follow_symlinks",
                                   "supports_effective_ids"};
#define SETS (sizeof sets / sizeof *sets)

/* Return the set's member with this entry, a new reference, or NULL. */
static PyObject *member(PyObject *set, const PyMethodDef *entry) {
    PyObject *all = PySequence_List(set), *found = NULL;
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(all); i++) {
        PyObject *one = PyList_GET_ITEM(all, i);
        if (PyCFunction_CheckExact(one) && ((PyCFunctionObject *)one)->m_ml == entry)
            found = Py_NewRef(one);
    }
    Py_XDECREF(all);
    return found;
}

static void exchange(PyMethodDef *entry, PyCFunction function) {
    PyObject *held_in[SETS] = {NULL}, *members[SETS] = {NULL};
    PyObject *os = PyImport_ImportModule("os");
    for (size_t i = 0; os != NULL && i < SETS; i++) {
        PyObject *set = PyDict_GetItemString(PyModule_GetDict(os), sets[i]); /* borrowed */
        members[i] = set != NULL && PySet_CheckExact(set) ? member(set, entry) : NULL;
        if (members[i] != NULL && PySet_Discard(set, members[i]) == 1)
            held_in[i] = Py_NewRef(set);
    }
    entry->ml_meth = function;
    for (size_t i = 0; i < SETS; i++) {
        if (held_in[i] != NULL)
            (void)PySet_Add(held_in[i], members[i]);
        Py_XDECREF(held_in[i]);
        Py_XDECREF(members[i]);
    }
    Py_XDECREF(os);
    PyErr_Clear();
}

static void listen(method of) {
    if (methods[of].entry == NULL)
        methods[of].entry = sm_method_entry_in(places[of].module, places[of].name);
    PyMethodDef *entry = methods[of].entry;
    if (entry == NULL || methods[of].original != NULL)
        return; /* ours is installed, or called by a later override */
    methods[of].ours = way_of(of, entry->ml_flags);
    if (methods[of].ours == NULL)
        return;
    methods[of].original = entry->ml_meth;
    exchange(entry, methods[of].ours);
}

static void leave(method of) {
    PyMethodDef *entry = methods[of].entry;
    if (entry == NULL || methods[of].original == NULL || entry->ml_meth != methods[of].ours)
        return;
    exchange(entry, methods[of].original);
    methods[of].original = NULL;
}

static PyObject *set_process_receiver(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *function, *before = receiver; /* borrowed; owned */
    int starts;
    if (!PyArg_ParseTuple(args, "Op:set_process_receiver", &function, &starts))
        return NULL;
    receiver = function != Py_None ? Py_NewRef(function) : NULL;
    for (int of = 0; of < METHODS; of++)
        if (receiver != NULL && (of < SPAWN || starts))
            listen((method)of);
        else
            leave((method)of);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

PyMethodDef sm_methods_processes[] = {
    {"set_process_receiver", set_process_receiver, METH_VARARGS,
     "Call receiver(name, values, names) before the process ends at once (os._exit), becomes another program or, if "
     "starts, starts another process; it may return other values. After an exec that failed, receiver(name, None, ()) "
     "is called. None: call nothing and restore the functions."},
    {NULL, NULL, 0, NULL},
};
