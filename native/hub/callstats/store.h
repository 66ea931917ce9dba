/* What call statistics are kept in: an *entry* for each function, a *link* for each function under one caller, both
 * found in one probe by addresses. Entries and links stay where they are until all are forgotten. */
#ifndef SM_HUB_CALLSTATS_STORE_H
#define SM_HUB_CALLSTATS_STORE_H

#include <Python.h>
#include <stdint.h>

#include "base/map.h"

typedef struct {
    int64_t calls, recursive;
    int64_t total, own; /* ticks of the clock, units of a timer */
    const void *owner;  /* the track that `level` is about; compared, never followed (callstats.c) */
    int64_t level;
} sm_call_sums;

typedef struct sm_call_link sm_call_link;

typedef struct sm_call_entry {
    const void *key; /* the code object or PyMethodDef */
    PyObject *code;  /* owned: the code object or a str */
    sm_call_sums sums;
    sm_call_link *newest; /* of its links as a caller, the one used last */
    sm_call_link *links;  /* all of them */
    struct sm_call_entry *next;
} sm_call_entry;

struct sm_call_link {
    const void *key; /* the callee's */
    sm_call_entry *caller, *callee;
    sm_call_sums sums;
    sm_call_link *next; /* of the caller's */
};

typedef struct {
    sm_map by_key;                 /* of entries */
    sm_call_entry *first, *newest; /* in the order of their first call */
    sm_call_link **links;          /* open addressing, by (caller, key) */
    size_t link_count, link_size;
} sm_call_store;

/* Finds or makes. named: the code object, or the callable that has the PyMethodDef `key`. NULL: out of memory. The name
 * of a C function is made of strings only, which sets off no garbage collection: no other code runs in between. */
sm_call_entry *sm_call_store_entry(sm_call_store *store, const void *key, PyObject *named);
sm_call_link *sm_call_store_link(sm_call_store *store, sm_call_entry *caller, const void *key, PyObject *named);

/* names.c: what cProfile calls a C function: a new str, or NULL with no exception set. */
PyObject *sm_callstats_name(PyObject *callable);

/* Empties it. Letting go of code objects may run code, which finds it empty. */
void sm_call_store_forget(sm_call_store *store);

#endif
