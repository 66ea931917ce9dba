/* The objects recorder's Python functions. The session (seismo.sessions.objects) calls them inside the recorded
 * program. They make objects themselves, so they stop recording births on their thread and read the live table first.
 */
#include <string.h>

#include "base/alloc.h"
#include "compat/core_lock.h"
#include "hub/spans.h"
#include "module/module.h"
#include "module/wiring.h"
#include "recorder/calls/calltree.h"
#include "recorder/objects/marks_and_holders.h"
#include "recorder/objects/objects.h"
#include "recorder/objects/store.h"

enum { MOST_ADDRESSES = 100000 };

/* ---- spans ---- */

static sm_spans spans;

int sm_module_objects_prepare(const sm_filter *span) {
    const char *why_not = span != NULL ? sm_spans_objection(span) : NULL;
    if (why_not != NULL)
        PyErr_SetString(PyExc_ValueError, why_not);
    return why_not != NULL || sm_reftracer_prepare() < 0 ? -1 : 0;
}

int sm_module_objects_spans_start(sm_filter *filter) {
    spans.choice = (sm_tool_filter){.filter = sm_filter_hold(filter)};
    spans.receiver = &sm_objects_span_receiver;
    sm_objects_quiet(true);
    int done = sm_spans_start(&spans);
    sm_objects_quiet(false);
    return done;
}

void sm_module_objects_spans_stop(void) {
    sm_objects_quiet(true);
    sm_hub_remove(&spans.tool);
    sm_objects_quiet(false);
}

void sm_module_objects_spans_forked(void) {
    sm_spans_forked(&spans);
}

/* ---- queries ---- */

static PyObject *objects_quiet(PyObject *Py_UNUSED(module), PyObject *on) {
    int truth = PyObject_IsTrue(on);
    if (truth < 0)
        return NULL;
    sm_objects_quiet(truth);
    Py_RETURN_NONE;
}

static PyObject *objects_mark(PyObject *Py_UNUSED(module), PyObject *name) {
    uint64_t births = sm_objects.births;
    sm_objects_quiet(true);
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "the name of a mark must be a str");
    bool done = text != NULL && sm_objects_add_mark(text);
    PyObject *result = done ? PyLong_FromUnsignedLongLong(births) : NULL;
    if (text != NULL && !done)
        PyErr_NoMemory();
    sm_objects_quiet(false);
    return result;
}

static PyObject *objects_end(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    if (sm_objects.on && sm_main.running)
        sm_objects_note_end();
    Py_RETURN_NONE;
}

typedef struct { /* a query about the objects born in (first, last] */
    uint64_t first, last;
    uint64_t *counts; /* by site */
    uint32_t sites;   /* of later ones nothing is asked */
    bool spans;       /* only those born in a span */
    uint64_t limit;   /* most of a site */
    sm_object *found; /* NULL if they are only counted */
    size_t found_count;
} question;

static void find_alive(const sm_object *object, void *context) {
    question *asked = context;
    if (object->serial <= asked->first || object->serial > asked->last || (asked->spans && object->span == 0) ||
        asked->found_count == MOST_ADDRESSES || object->site >= asked->sites ||
        asked->counts[object->site] == asked->limit)
        return;
    asked->counts[object->site]++;
    if (asked->found != NULL)
        asked->found[asked->found_count++] = *object;
}

static PyObject *dict_of_counts(const question *asked) {
    PyObject *alive = PyDict_New();
    for (uint32_t site = 1; site < asked->sites && alive != NULL; site++) {
        if (asked->counts[site] == 0)
            continue;
        PyObject *key = PyLong_FromUnsignedLong(site - 1);
        PyObject *value = PyLong_FromUnsignedLongLong(asked->counts[site] * sm_objects.weight);
        if (key == NULL || value == NULL || PyDict_SetItem(alive, key, value) < 0)
            Py_CLEAR(alive);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return alive;
}

/* Restrict the search to these sites: the others count as having reached the limit. Return false with an exception set.
 */
static bool choose_sites(question *asked, PyObject *sites) {
    for (uint32_t i = 0; i < asked->sites; i++)
        asked->counts[i] = asked->limit;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sites); i++) {
        unsigned long id = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(sites, i));
        if (PyErr_Occurred())
            return false;
        if (id + 1 < asked->sites)
            asked->counts[id + 1] = 0;
    }
    return true;
}

static PyObject *dict_of_found(const question *asked) {
    PyObject *places = PyDict_New();
    for (size_t i = 0; places != NULL && i < asked->found_count; i++) {
        PyObject *site = PyLong_FromUnsignedLong(asked->found[i].site - 1), *fresh = PyList_New(0);
        PyObject *list = site != NULL && fresh != NULL ? PyDict_SetDefault(places, site, fresh) : NULL; /* borrowed */
        PyObject *address = PyLong_FromUnsignedLongLong(asked->found[i].address);
        if (list == NULL || address == NULL || PyList_Append(list, address) < 0)
            Py_CLEAR(places);
        Py_XDECREF(site);
        Py_XDECREF(fresh);
        Py_XDECREF(address);
    }
    return places;
}

static void each_live(question *asked) {
    SM_OBJECTS_GUARD;
    sm_objects_each_live(find_alive, asked);
}

/* Answer a question about all sites, or about a tuple of them, whose objects are found. A negative `last` means until
 * now. */
static PyObject *answer(question *asked, long long last, PyObject *sites) {
    sm_objects_quiet(true);
    asked->last = last < 0 ? UINT64_MAX : (uint64_t)last;
    asked->sites = sm_objects.sites_count;
    asked->counts = sm_calloc(asked->sites, sizeof *asked->counts);
    asked->found = sites != NULL ? sm_malloc(MOST_ADDRESSES * sizeof *asked->found) : NULL;
    PyObject *dict = NULL;
    if (asked->counts == NULL || (sites != NULL && asked->found == NULL)) {
        PyErr_NoMemory();
    } else if (sites == NULL || choose_sites(asked, sites)) {
        each_live(asked);
        dict = sites != NULL ? dict_of_found(asked) : dict_of_counts(asked);
    }
    sm_free(asked->counts);
    sm_free(asked->found);
    sm_objects_quiet(false);
    return dict;
}

static PyObject *objects_alive(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    static char *names[] = {"first", "last", NULL};
    unsigned long long first = 0;
    long long last = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|KL:objects_alive", names, &first, &last))
        return NULL;
    return answer(&(question){.first = first, .limit = UINT64_MAX}, last, NULL);
}

static PyObject *objects_addresses(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    static char *names[] = {"sites", "first", "last", "limit", "spans", NULL};
    PyObject *sites;
    unsigned long long first = 0, limit = 100;
    long long last = -1;
    int in_spans = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|KLKp:objects_addresses", names, &PyTuple_Type, &sites, &first,
                                     &last, &limit, &in_spans))
        return NULL;
    return answer(&(question){.first = first, .limit = limit, .spans = in_spans}, last, sites);
}

static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogatepass");
}

static const sm_objects_type *read_site(uint32_t number, sm_objects_rest *rest) {
    SM_OBJECTS_GUARD;
    *rest = sm_objects.rests[number];
    return sm_objects.sites[number].type;
}

static PyObject *objects_site(PyObject *Py_UNUSED(module), PyObject *number) {
    unsigned long id = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred())
        return NULL;
    if (id + 1 >= sm_objects.sites_count)
        return PyErr_Format(PyExc_IndexError, "there is no site of this number");
    sm_objects_quiet(true);
    sm_objects_rest rest;
    const sm_objects_type *type = read_site((uint32_t)id + 1, &rest);
    const sm_function *function = rest.function;
    int64_t node = rest.node != NULL ? sm_calltree_number(rest.node) : -1;
    PyObject *site =
        Py_BuildValue("NNNNNiL", text_of(type->module), text_of(type->name), text_of(function ? function->module : ""),
                      text_of(function ? function->qualname : ""), text_of(function ? function->file : ""), rest.line,
                      (long long)node);
    sm_objects_quiet(false);
    return site;
}

/* ---- holders ---- */

/* Convert a row with its own number in the list, or that of the row it replaces, and fields as in the file. */
static bool holder_from(PyObject *row, Py_ssize_t rows, uint32_t first, sm_objects_holder *holder) {
    unsigned int object, flags;
    long long parent;
    unsigned long long count, asked;
    if (!PyTuple_Check(row) ||
        !PyArg_ParseTuple(row, "ILIKKss", &object, &parent, &flags, &count, &asked, &holder->holder, &holder->by)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError,
                            "a row of holders must be a tuple (object, parent, flags, count, asked, holder, by)");
        return false;
    }
    if (parent < -1 || parent >= rows || object + 1 >= sm_objects.sites_count) {
        PyErr_SetString(PyExc_IndexError, "the parent or the object of a holder does not exist");
        return false;
    }
    holder->object = object;
    holder->parent = parent < 0 ? -1 : parent + first;
    holder->flags = flags;
    holder->count = count;
    holder->asked = asked;
    return true;
}

/* The first pass checks all rows and removes old ones, before the second adds any. */
static PyObject *add_holders(PyObject *rows) {
    Py_ssize_t count = PyTuple_GET_SIZE(rows);
    sm_objects_holder holder;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!holder_from(PyTuple_GET_ITEM(rows, i), count, 0, &holder))
            return NULL;
        if (!sm_objects_drop_holders(holder.object))
            return PyErr_NoMemory();
    }
    uint32_t first = sm_objects_notes.holders_count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!holder_from(PyTuple_GET_ITEM(rows, i), count, first, &holder))
            return NULL;
        if (!sm_objects_add_holder(&holder)) {
            sm_objects_cut_holders(first); /* all or none, because their parents are among them */
            return PyErr_NoMemory();
        }
    }
    Py_RETURN_NONE;
}

static PyObject *objects_add_holders(PyObject *Py_UNUSED(module), PyObject *rows) {
    SM_CORE_GUARD;
    sm_objects_quiet(true);
    PyObject *held = PySequence_Tuple(rows);
    PyObject *result = held != NULL ? add_holders(held) : NULL;
    Py_XDECREF(held);
    sm_objects_quiet(false);
    return result;
}

/* ---- status ---- */

static PyObject *objects_objection(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    return Py_BuildValue("z", sm_reference_objection());
}

PyObject *sm_module_objects_status(void) {
    if (!sm_objects.on)
        return PyDict_New();
    sm_reference_poll();
    sm_reference_facts slot = sm_objects_slot_facts();
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsOsK}", "births",
                         (unsigned long long)(sm_objects.births - sm_objects.unborn), "deaths",
                         (unsigned long long)sm_objects.deaths, "live",
                         (unsigned long long)(sm_objects.births - sm_objects.unborn - sm_objects.deaths), "live_bytes",
                         (unsigned long long)sm_objects.live_bytes, "sites",
                         (unsigned long long)(sm_objects.sites_count > 0 ? sm_objects.sites_count - 1 : 0), "sampling",
                         (unsigned long long)sm_objects.weight, "blind_ns", (unsigned long long)slot.blind_ns, "taken",
                         (unsigned long long)slot.taken, "chained", slot.chained ? Py_True : Py_False, "keys_bytes",
                         (unsigned long long)sm_objects.keys_bytes);
}

PyMethodDef sm_methods_objects[] = {
    {"objects_quiet", objects_quiet, METH_O, "Stop recording births on this thread, or resume. Calls nest."},
    {"objects_mark", objects_mark, METH_O, "Add a row to the marks and return the number of births so far."},
    {"objects_end", objects_end, METH_NOARGS,
     "End the timeline, unless another birth follows: what comes now is seismo's own."},
    {"objects_alive", SM_KEYWORDS(objects_alive),
     "Return {site: number of its objects that were born in (first, last] and are alive}."},
    {"objects_addresses", SM_KEYWORDS(objects_addresses),
     "Return {site: addresses} of live objects of a tuple of sites, at most limit of each and 100,000 in all; with "
     "spans, of those born in a span. Addresses may only be compared."},
    {"objects_site", objects_site, METH_O,
     "Return (module and name of the type, module, qualified name and file of the function, line, node)."},
    {"objects_objection", objects_objection, METH_NOARGS, "Return why no objects can be recorded here, or None."},
    {"objects_add_holders", objects_add_holders, METH_O,
     "Add rows of holders to the recording, in place of earlier ones of the same objects. parent is an index into "
     "these rows, or -1."},
    {NULL, NULL, 0, NULL},
};
