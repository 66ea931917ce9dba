/* The tables of call statistics: an *entry* for each function, and a *link* for each pair of caller and function. */
#pragma once

#include <Python.h>
#include <stdint.h>

#include "base/map.h"

typedef struct {
    int64_t calls, recursive;
    int64_t total, own; /* ticks of the clock, or units of a timer */
    const void *owner;  /* the track of `level`; never dereferenced */
    int64_t level;
} sm_call_sums;

typedef struct sm_call_link sm_call_link;

typedef struct sm_call_entry {
    const void *key; /* the code object or PyMethodDef */
    PyObject *code;  /* owned; a code object or a str */
    sm_call_sums sums;
    sm_call_link *newest; /* the link from it, as a caller, that was used last */
    sm_call_link *links;
    struct sm_call_entry *next;
} sm_call_entry;

struct sm_call_link {
    const void *key; /* key of the callee */
    sm_call_entry *caller, *callee;
    sm_call_sums sums;
    sm_call_link *next; /* the next link of the same caller */
};

typedef struct {
    sm_map by_key;                 /* holds entries */
    sm_call_entry *first, *newest; /* in the order of their first call */
    sm_call_link **links;          /* an open-addressed table, by (caller, key) */
    size_t link_count, link_size;
} sm_call_store;

/* Find or make an entry; named is the code object, or the callable with the PyMethodDef `key`. Return NULL if out of
 * memory. Naming a C function makes only strings, so no garbage collection runs code. */
sm_call_entry *sm_call_store_entry(sm_call_store *store, const void *key, PyObject *named);
sm_call_link *sm_call_store_link(sm_call_store *store, sm_call_entry *caller, const void *key, PyObject *named);

/* Return cProfile's name of a C function, a new str, or NULL without an exception (names.c). */
PyObject *sm_callstats_name(PyObject *callable);

/* Empty the store. Releasing code objects may run code, which finds the store empty. */
void sm_call_store_forget(sm_call_store *store);
