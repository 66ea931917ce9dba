/* The functions by which a process ends or starts another, entered through ours while a recording wants to be told of
 * it.
 *
 * A built-in function finds what to run through its PyMethodDef, an entry of a table that its module keeps in writable
 * memory. The entries of os._exit, execv, execve, posix_spawn and posix_spawnp, of _posixsubprocess.fork_exec, on which
 * subprocess and multiprocessing stand, and of those after which files may be out of reach (chroot, setuid), are given
 * functions of ours, which tell the receiver and call the interpreter's own. So the functions stay the objects that
 * they are, under whatever name a program has kept them: their types, their signatures, what os.supports_fd holds. What
 * they raise has no frame of ours in it.
 *
 * The receiver is a Python function, called as receiver(name, values, names) before the interpreter's function, with
 * its arguments as the vectorcall protocol has them; it may return a tuple of other values. An exec that comes back has
 * failed: receiver(name, None, ()). No tool is told anything of what the receiver does, and what it raises is
 * forgotten. A signal's handler does not run in the middle of it, but when it has returned. */
#include <limits.h>
#include <string.h>

#include "compat/exception.h"
#include "module/module.h"

typedef enum {
    EXIT,
    EXECV,
    EXECVE,
    CHROOT,
    SETUID,
    SETEUID,
    SETREUID,
    SETRESUID,
    SPAWN, /* from here on: those that start processes */
    SPAWNP,
    FORK_EXEC,
    METHODS
} method;
typedef PyObject *(*fast_function)(PyObject *self, PyObject *const *values, Py_ssize_t count);
typedef PyObject *(*keyword_function)(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names);

static struct { /* under the GIL; the entries are the process', the receiver the main interpreter's */
    PyMethodDef *entry;
    PyCFunction original; /* NULL: ours is not in the way. Kept while another tool's function may still call ours */
    PyCFunction ours;
} methods[METHODS];
static PyObject *receiver; /* owned; NULL: nobody listens */

static const struct {
    const char *module, *name;
} places[METHODS] = {
    [EXIT] = {"posix", "_exit"},          [EXECV] = {"posix", "execv"},
    [EXECVE] = {"posix", "execve"},       [SPAWN] = {"posix", "posix_spawn"},
    [SPAWNP] = {"posix", "posix_spawnp"}, [FORK_EXEC] = {"_posixsubprocess", "fork_exec"},
    [CHROOT] = {"posix", "chroot"},       [SETUID] = {"posix", "setuid"},
    [SETEUID] = {"posix", "seteuid"},     [SETREUID] = {"posix", "setreuid"},
    [SETRESUID] = {"posix", "setresuid"},
};

static bool listens(void) { /* a subinterpreter shares the tables */
    return receiver != NULL && PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* What the receiver says: a tuple of values to go on with, or NULL without an exception for those that there are. */
static PyObject *tell(method of, PyObject *values, PyObject *names) {
    sm_exception kept = sm_exception_keep();
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
    sm_exception_restore(kept); /* and with it goes what the receiver raised */
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

/* The one argument of os._exit as the number that it is for the interpreter, new. NULL: it will be refused, and without
 * an exception that is still to be said. Asked once, since it may be code of the program's that answers. */
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
        other = tell(of, given, names);
    else
        PyErr_Clear();
    PyObject *const *now = other != NULL ? ((PyTupleObject *)other)->ob_item : values;
    PyObject *result = original(of, self, now, count, names);
    if ((of == EXECV || of == EXECVE) && listens())
        Py_XDECREF(tell(of, Py_None, NULL));
    Py_XDECREF(other);
    Py_XDECREF(given);
    Py_XDECREF(status);
    return result;
}

#define METHOD(NAME, OF)                                                                                               \
    static PyObject *NAME##_keywords(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {     \
        return entered(OF, self, values, count, names);                                                                \
    }                                                                                                                  \
    static PyObject *NAME##_fast(PyObject *self, PyObject *const *values, Py_ssize_t count) {                          \
        return entered(OF, self, values, count, NULL);                                                                 \
    }                                                                                                                  \
    static PyObject *NAME##_one(PyObject *self, PyObject *value) {                                                     \
        return entered(OF, self, &value, 1, NULL);                                                                     \
    }                                                                                                                  \
    static PyObject *NAME##_tuple(PyObject *self, PyObject *args) {                                                    \
        return entered(OF, self, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), NULL);                      \
    }

METHOD(exit_, EXIT)
METHOD(execv, EXECV)
METHOD(execve, EXECVE)
METHOD(chroot, CHROOT)
METHOD(setuid, SETUID)
METHOD(seteuid, SETEUID)
METHOD(setreuid, SETREUID)
METHOD(setresuid, SETRESUID)
METHOD(spawn, SPAWN)
METHOD(spawnp, SPAWNP)
METHOD(fork_exec, FORK_EXEC)

#define WAYS(NAME)                                                                                                     \
    {(PyCFunction)(void (*)(void))NAME##_keywords, (PyCFunction)(void (*)(void))NAME##_fast, NAME##_tuple, NAME##_one}
static const PyCFunction ways[METHODS][4] = {
    [CHROOT] = WAYS(chroot),       [SETUID] = WAYS(setuid), [SETEUID] = WAYS(seteuid),     [SETREUID] = WAYS(setreuid),
    [SETRESUID] = WAYS(setresuid), [EXIT] = WAYS(exit_),    [EXECV] = WAYS(execv),         [EXECVE] = WAYS(execve),
    [SPAWN] = WAYS(spawn),         [SPAWNP] = WAYS(spawnp), [FORK_EXEC] = WAYS(fork_exec),
};

/* Ours for a function that takes its arguments in this way; NULL: in none that is known. */
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

/* The entry of the built-in function, wherever a program has put another in its place: the module's definition has it,
 * or, where a module has none, the function. NULL without an exception: there is none. */
static PyMethodDef *find(const char *module_name, const char *name) {
    PyObject *module = PyImport_ImportModule(module_name);
    PyModuleDef *definition = module ? PyModule_GetDef(module) : NULL;
    PyMethodDef *found = NULL;
    for (PyMethodDef *entry = definition ? definition->m_methods : NULL; entry && entry->ml_name; entry++) {
        if (strcmp(entry->ml_name, name) == 0)
            found = entry;
    }
    PyObject *function = module != NULL && found == NULL ? PyObject_GetAttrString(module, name) : NULL;
    if (function != NULL && PyCFunction_CheckExact(function) && PyCFunction_GET_SELF(function) == module)
        found = ((PyCFunctionObject *)function)->m_ml;
    Py_XDECREF(function);
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

/* A built-in function's hash is made of ml_meth, too. So the sets of the interpreter's that hold one from before are to
 * hold it anew: os.supports_fd, with execve in it. */
static const char *const sets[] = {"supports_fd", "supports_dir_fd", "supports_follow_symlinks",
                                   "supports_effective_ids"};
#define SETS (sizeof sets / sizeof *sets)

/* The set's member that the entry is behind, new; NULL: there is none. */
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
        methods[of].entry = find(places[of].module, places[of].name);
    PyMethodDef *entry = methods[of].entry;
    if (entry == NULL || methods[of].original != NULL)
        return; /* ours is there, or called by whoever did the same after us */
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
    for (int of = 0; of < METHODS; of++) {
        if (receiver != NULL && (of < SPAWN || starts))
            listen((method)of);
        else
            leave((method)of);
    }
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_process_receiver", set_process_receiver, METH_VARARGS,
     "set_process_receiver(receiver, starts): call receiver(name, values, names) before the process ends at once "
     "(os._exit), becomes another program or, if starts, starts another process; it may return other values. After an "
     "exec that failed, receiver(name, None, ()) is called. None: call nothing and restore the functions."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_processes(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
