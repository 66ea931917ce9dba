/* What a Python callback is told of objects, collected inside the hook, handed over outside it: reference_batch.c. */
#ifndef SM_HUB_REFERENCE_BATCH_H
#define SM_HUB_REFERENCE_BATCH_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/reference_tracer.h"

#define SM_REFERENCE_MORE 512 /* types that are counted when there is no more room; a power of two */

typedef struct {
    PyTypeObject *type; /* owned */
    uintptr_t what;     /* the object's address, which is even, + the event */
} sm_reference_entry;

typedef struct {
    PyTypeObject *type; /* owned; NULL: free */
    uint64_t counts[2]; /* by event */
} sm_reference_more;

typedef struct {
    sm_reference_entry *entries; /* owned */
    sm_reference_more *more;     /* owned; open addressing, SM_REFERENCE_MORE */
    uint32_t used, types;
    uint64_t removed, lost;
} sm_reference_half;

typedef struct {
    sm_reference_half halves[2];
    uint32_t filling; /* which one events go to */
    uint32_t size;    /* entries of a half */
} sm_reference_batch;

bool sm_reference_batch_init(sm_reference_batch *batch,
                             uint32_t size);             /* false: out of memory; nothing is owned then */
void sm_reference_batch_free(sm_reference_batch *batch); /* outside events */

/* True: it is time to take. Inside an event: makes nothing, allocates nothing. */
bool sm_reference_batch_add(sm_reference_batch *batch, PyObject *object, sm_reference_event event);

static inline bool sm_reference_batch_empty(const sm_reference_batch *batch) {
    const sm_reference_half *half = &batch->halves[batch->filling];
    return half->used == 0 && half->types == 0 && half->removed == 0 && half->lost == 0;
}

/* Outside events, not while another thread is at it: a new list of tuples (type, count, address, event), and the batch
 * is empty. names: of the events by number, and "lost". NULL with MemoryError: what was not turned into tuples counts
 * as lost next time. */
PyObject *sm_reference_batch_take(sm_reference_batch *batch, PyObject *const names[4]);

void sm_reference_batch_forget(sm_reference_batch *batch); /* outside events */

#endif
