/* Flat statistics of calls, as cProfile keeps them, over the hub: for each function how often it was called, how long
 * it took with and without what it called, and the same for each pair of a caller and a function.
 *
 * Ownership and threads: everything with the GIL. A recorder belongs to whoever made it; what the hub holds of it is a
 * tool of its own, so that a recorder may go while the hub is still leaving one of its callbacks. Only a custom timer
 * runs Python code, and only there can another thread come in between. */
#ifndef SM_HUB_CALLSTATS_CALLSTATS_H
#define SM_HUB_CALLSTATS_CALLSTATS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sm_callstats sm_callstats;

/* NULL with MemoryError. */
sm_callstats *sm_callstats_new(void);
/* Stops it, calls no timer, and lets go of everything. */
void sm_callstats_free(sm_callstats *stats);

/* A timer (borrowed; NULL: the default clock) and what one of its units is in seconds (0: it gives seconds). Forgets
 * what was counted. -1 with RuntimeError while it is on, or from its own timer. */
int sm_callstats_setup(sm_callstats *stats, PyObject *timer, double unit, bool subcalls, bool builtins,
                       bool this_thread);
PyObject *sm_callstats_timer(sm_callstats *stats); /* borrowed, NULL: none; for the garbage collector */

/* 1, 0, or -1 to leave each as it was. Idempotent. -1 with an exception (of the hub, or from its own timer). */
int sm_callstats_enable(sm_callstats *stats, int subcalls, int builtins);
/* Ends the calls that are running, now. Idempotent. -1 with RuntimeError from its own timer, or with MemoryError when
 * calls went uncounted for want of memory. */
int sm_callstats_disable(sm_callstats *stats);
/* Forgets everything, running calls included. -1 with RuntimeError from its own timer. */
int sm_callstats_clear(sm_callstats *stats);

/* What is known of a function, and of it under one caller. Times in seconds. */
typedef struct {
    PyObject *code; /* a code object or a str */
    int64_t calls, recursive;
    double total, own;
} sm_callstats_row;

/* Calls `visit` for each function with rows[0] and, in rows[1] to rows[called], what it called. The rows are copies
 * that hold references, so that whatever Python code runs meanwhile may count on. -1 with an exception, from visit or
 * for want of memory. */
typedef int (*sm_callstats_visitor)(void *data, const sm_callstats_row *rows, size_t called);
int sm_callstats_visit(sm_callstats *stats, sm_callstats_visitor visit, void *data);

#endif
