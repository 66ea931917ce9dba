/* A program makes far more objects than a Python callback can handle, so events are kept in two levels. Entries have
 * type, address and event, in order, for all threads. The batch is taken when half of its entries are used. If they
 * fill up, during a long C call, events are counted by type, and only when that table is full as lost. While one half
 * is converted to tuples, which may let other threads run, events go to the other half.
 *
 * The batch owns references to types, so a type's address is not reused. The object has one too, so this is safe
 * inside the hook. The cost is that a class lives on until the batch is taken. */
#include "hub/reference_batch.h"

#include "base/alloc.h"

bool sm_reference_batch_init(sm_reference_batch *batch, uint32_t size) {
    bool made = true;
    *batch = (sm_reference_batch){.size = size};
    for (int i = 0; i < 2; i++) {
        batch->halves[i].entries = sm_malloc(size * sizeof(sm_reference_entry));
        batch->halves[i].more = sm_calloc(SM_REFERENCE_MORE, sizeof(sm_reference_more));
        made = made && batch->halves[i].entries != NULL && batch->halves[i].more != NULL;
    }
    if (!made)
        sm_reference_batch_free(batch);
    return made;
}

/* Releasing a type may run code and cause events in this half, so each item is removed before its release. */
static void forget_half(sm_reference_half *half) {
    while (half->used > 0) {
        PyTypeObject *type = half->entries[--half->used].type;
        Py_DECREF(type);
    }
    for (uint32_t i = 0; half->types > 0 && i < SM_REFERENCE_MORE; i++) {
        PyTypeObject *type = half->more[i].type;
        if (type != NULL) {
            half->more[i] = (sm_reference_more){0};
            half->types--;
            Py_DECREF(type);
        }
    }
    half->removed = half->lost = 0;
}

void sm_reference_batch_forget(sm_reference_batch *batch) {
    forget_half(&batch->halves[0]);
    forget_half(&batch->halves[1]);
}

void sm_reference_batch_free(sm_reference_batch *batch) {
    for (int i = 0; i < 2; i++) {
        sm_reference_half *half = &batch->halves[i];
        if (half->entries != NULL && half->more != NULL)
            forget_half(half);
        sm_free(half->entries);
        sm_free(half->more);
        *half = (sm_reference_half){0};
    }
}

static void count(sm_reference_half *half, PyTypeObject *type, sm_reference_event event) {
    uint32_t i = (uint32_t)(((uintptr_t)type >> 4) * 0x9E3779B1u) >> 16;
    for (;; i++) {
        sm_reference_more *more = &half->more[i % SM_REFERENCE_MORE];
        if (more->type == type) {
            more->counts[event]++;
            return;
        }
        if (more->type == NULL) {
            if (half->types >= SM_REFERENCE_MORE * 3 / 4) {
                half->lost++;
                return;
            }
            Py_INCREF(type);
            *more = (sm_reference_more){.type = type};
            more->counts[event] = 1;
            half->types++;
            return;
        }
    }
}

bool sm_reference_batch_add(sm_reference_batch *batch, PyObject *object, sm_reference_event event) {
    sm_reference_half *half = &batch->halves[batch->filling];
    if (SM_UNLIKELY(event == SM_REFERENCE_REMOVED)) {
        half->removed++;
        return true;
    }
    PyTypeObject *type = Py_TYPE(object);
    if (SM_LIKELY(half->used < batch->size)) {
        Py_INCREF(type);
        half->entries[half->used++] = (sm_reference_entry){type, (uintptr_t)object | (uintptr_t)event};
    } else {
        count(half, type, event);
    }
    return half->used >= batch->size / 2;
}

/* Append a row. Steals the type. */
static int add(PyObject *list, PyObject *type, uint64_t count, uintptr_t address, PyObject *event) {
    PyObject *row = PyTuple_New(4);
    PyObject *number = row ? PyLong_FromUnsignedLongLong(count) : NULL;
    PyObject *place = number ? PyLong_FromUnsignedLongLong(address) : NULL;
    if (place == NULL) {
        Py_XDECREF(number);
        Py_XDECREF(row);
        Py_DECREF(type);
        return -1;
    }
    PyTuple_SET_ITEM(row, 0, type);
    PyTuple_SET_ITEM(row, 1, number);
    PyTuple_SET_ITEM(row, 2, place);
    PyTuple_SET_ITEM(row, 3, Py_NewRef(event));
    int done = PyList_Append(list, row);
    Py_DECREF(row);
    return done;
}

/* The rows made so far, or only the number of missed events after a row could not be made. */
typedef struct {
    PyObject *list;        /* owned; NULL after a failure */
    uint64_t kept, missed; /* events */
} rows;

/* Add a row. Steals the type. */
static void add_row(rows *rows, PyTypeObject *type, uint64_t count, uintptr_t address, PyObject *event) {
    if (rows->list == NULL) {
        Py_DECREF(type);
    } else if (add(rows->list, (PyObject *)type, count, address, event) == 0) {
        rows->kept += count;
        return;
    }
    rows->missed += rows->kept + count;
    rows->kept = 0;
    Py_CLEAR(rows->list);
}

PyObject *sm_reference_batch_take(sm_reference_batch *batch, PyObject *const names[4]) {
    sm_reference_half *half = &batch->halves[batch->filling];
    batch->filling ^= 1;
    rows rows = {.list = PyList_New(0), .missed = half->lost};
    for (uint32_t i = 0; i < half->used; i++) {
        uintptr_t what = half->entries[i].what;
        add_row(&rows, half->entries[i].type, 1, what & ~(uintptr_t)1, names[what & 1]);
    }
    half->used = 0;
    for (uint32_t i = 0; half->types > 0 && i < SM_REFERENCE_MORE; i++) {
        sm_reference_more more = half->more[i];
        if (more.type == NULL)
            continue;
        half->more[i] = (sm_reference_more){0};
        half->types--;
        for (int event = 0; event < 2; event++)
            if (more.counts[event] > 0)
                add_row(&rows, (PyTypeObject *)Py_NewRef(more.type), more.counts[event], 0, names[event]);
        Py_DECREF(more.type);
    }
    if (rows.list != NULL && half->removed > 0 &&
        add(rows.list, Py_NewRef(Py_None), half->removed, 0, names[SM_REFERENCE_REMOVED]) < 0)
        Py_CLEAR(rows.list);
    if (rows.list != NULL && rows.missed > 0 && add(rows.list, Py_NewRef(Py_None), rows.missed, 0, names[3]) < 0)
        Py_CLEAR(rows.list);
    half->removed = half->lost = 0;
    if (rows.list == NULL)
        batch->halves[batch->filling].lost += rows.missed + rows.kept;
    return rows.list;
}
