/* Finds the referrers of objects (seismo.process.objects.holder_search). tp_traverse visits an object's referents,
 * which runs no code of the program and makes no tracked object. The caller owns all objects during a call. */
#include <assert.h>

#include "base/map.h"
#include "compat/core_lock.h"
#include "module/module.h"

enum { SMALLEST = 64 }; /* size of the smallest map */

typedef struct {
    uint64_t address;
    PyObject *found; /* the list in the caller's {id: list}; None where the search ends */
} wanted;

typedef struct {
    sm_map wanted;
    PyObject *holder;           /* the object that is visited */
    Py_ssize_t of_a_type, most; /* limits on the referrers */
    PyObject *heap;             /* the heap; also gets untracked objects */
    sm_map seen;                /* addresses of seen objects */
    bool holds;                 /* the visited object may hold a wanted one */
} search;

/* Enter the caller's {id: list or None}. Return false with an exception if an id is not a number or memory runs out. */
static bool want(search *asked, PyObject *all) {
    PyObject *number, *found;
    for (Py_ssize_t at = 0; PyDict_Next(all, &at, &number, &found);) {
        assert(PyList_Check(found) || found == Py_None);
        wanted *one = sm_map_make(&asked->wanted, (uintptr_t)PyLong_AsVoidPtr(number), sizeof *one, SMALLEST);
        if (one == NULL)
            PyErr_NoMemory();
        if (PyErr_Occurred())
            return false;
        one->found = found;
    }
    return true;
}

/* Visit what the object refers to. Return false if a visit failed, with its exception. */
static bool go_through(PyObject *object, visitproc visit, search *asked) {
    traverseproc traverse = PyObject_IS_GC(object) ? Py_TYPE(object)->tp_traverse : NULL;
    asked->holder = object;
    return traverse == NULL || traverse(object, visit, asked) == 0;
}

/* ---- referrers ---- */

static int note_referrer(PyObject *part, void *context) {
    const search *asked = context;
    const wanted *one = sm_map_find(&asked->wanted, (uintptr_t)part, sizeof *one);
    if (one == NULL)
        return 0;
    Py_ssize_t same = 0, count = PyList_GET_SIZE(one->found);
    for (Py_ssize_t i = 0; i < count; i++) {
        const PyObject *other = PyList_GET_ITEM(one->found, i);
        if (other == asked->holder)
            return 0;
        same += Py_TYPE(other) == Py_TYPE(asked->holder);
    }
    return same < asked->of_a_type && count < asked->most ? PyList_Append(one->found, asked->holder) : 0;
}

static PyObject *objects_referrers(PyObject *Py_UNUSED(module), PyObject *args) {
    SM_CORE_GUARD;
    PyObject *objects, *all;
    search asked = {0};
    if (!PyArg_ParseTuple(args, "O!O!nn:objects_referrers", &PyList_Type, &objects, &PyDict_Type, &all,
                          &asked.of_a_type, &asked.most))
        return NULL;
    bool done = want(&asked, all);
    sm_world_stop();
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(objects); i++)
        done = go_through(PyList_GET_ITEM(objects, i), note_referrer, &asked);
    sm_world_start();
    sm_map_free(&asked.wanted);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* ---- objects of a heap ---- */

/* Keep a wanted object that was met. Return false with an exception if memory runs out. */
static bool note_wanted(const wanted *one, PyObject *object) {
    return one == NULL || one->found == Py_None || PyList_GET_SIZE(one->found) > 0 ||
           PyList_Append(one->found, object) == 0;
}

static int look_at(PyObject *part, void *context) {
    search *asked = context;
    const wanted *one = sm_map_find(&asked->wanted, (uintptr_t)part, sizeof *one);
    if (!note_wanted(one, part))
        return -1;
    /* The search ends at types, modules and code, too. Untracked objects refer to nothing. */
    if (one != NULL ? one->found != Py_None
                    : PyObject_IS_GC(part) && !PyType_Check(part) && !PyModule_Check(part) && !PyCode_Check(part))
        asked->holds = true;
    if (!(PyTuple_CheckExact(part) || PyDict_CheckExact(part)) || PyObject_GC_IsTracked(part) ||
        sm_map_find(&asked->seen, (uintptr_t)part, sizeof(uint64_t)) != NULL)
        return 0;
    if (sm_map_make(&asked->seen, (uintptr_t)part, sizeof(uint64_t), SMALLEST) == NULL)
        return sm_no_memory();
    return PyList_Append(asked->heap, part);
}

static PyObject *objects_holders(PyObject *Py_UNUSED(module), PyObject *args) {
    SM_CORE_GUARD;
    PyObject *all;
    search asked = {0};
    if (!PyArg_ParseTuple(args, "O!O!:objects_holders", &PyList_Type, &asked.heap, &PyDict_Type, &all))
        return NULL;
    PyObject *holders = PyList_New(0);
    bool done = holders != NULL && want(&asked, all);
    sm_world_stop();
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(asked.heap); i++) {
        PyObject *object = PyList_GET_ITEM(asked.heap, i);
        asked.holds = false;
        done = note_wanted(sm_map_find(&asked.wanted, (uintptr_t)object, sizeof(wanted)), object) &&
               go_through(object, look_at, &asked) && (!asked.holds || PyList_Append(holders, object) == 0);
    }
    sm_world_start();
    sm_map_free(&asked.wanted);
    sm_map_free(&asked.seen);
    if (!done)
        Py_CLEAR(holders);
    return holders;
}

PyMethodDef sm_methods_referrers[] = {
    {"objects_referrers", objects_referrers, METH_VARARGS,
     "Append to each list of wanted, {id: list}, those of the objects that refer to the one with that id, until it has "
     "so many of a type, or so many."},
    {"objects_holders", objects_holders, METH_VARARGS,
     "Return those objects of a list that may hold a wanted one at whatever distance. wanted: {id: list}, and the "
     "object is put into the list when it is met; or {id: None}: it is an end, and nobody asks who holds it. The heap "
     "gets tuples and dicts that the collector does not track."},
    {NULL, NULL, 0, NULL},
};
