/* A batch of object events, handed to a Python callback outside of the hook. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/reference_tracer.h"

#define SM_REFERENCE_MORE 512 /* types counted once the entries are full; a power of two */

typedef struct {
    PyTypeObject *type; /* owned */
    uintptr_t what;     /* the object's address, which is even, plus the event */
} sm_reference_entry;

typedef struct {
    PyTypeObject *type; /* owned, or NULL if free */
    uint64_t counts[2]; /* numbers of events, by kind */
} sm_reference_more;

typedef struct {
    sm_reference_entry *entries; /* owned */
    sm_reference_more *more;     /* owned; open addressing, SM_REFERENCE_MORE */
    uint32_t used, types;
    uint64_t removed, lost;
} sm_reference_half;

typedef struct {
    sm_reference_half halves[2];
    uint32_t filling; /* the half that receives events */
    uint32_t size;    /* number of entries in a half */
} sm_reference_batch;

bool sm_reference_batch_init(sm_reference_batch *batch, uint32_t size); /* false if out of memory, with nothing owned */
void sm_reference_batch_free(sm_reference_batch *batch);                /* called outside of events */

/* Add an event, inside of it, without any allocation. Return true if it is time to take the batch. */
bool sm_reference_batch_add(sm_reference_batch *batch, PyObject *object, sm_reference_event event);

static inline bool sm_reference_batch_empty(const sm_reference_batch *batch) {
    const sm_reference_half *half = &batch->halves[batch->filling];
    return half->used == 0 && half->types == 0 && half->removed == 0 && half->lost == 0;
}

/* Return the batch as a new list of tuples (type, count, address, event), and clear it. names: of the events, and
 * "lost". Return NULL with a MemoryError set; its events are lost. Outside of events, by one thread at a time. */
PyObject *sm_reference_batch_take(sm_reference_batch *batch, PyObject *const names[4]);

void sm_reference_batch_forget(sm_reference_batch *batch); /* called outside of events */
