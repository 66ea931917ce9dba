/* Flat statistics of calls, as in cProfile, over the hub: numbers and times for each function, and each pair of
 * caller and function. Guarded by the GIL. The hub has a separate tool, so a recorder may be freed before the hub is
 * done with a callback. Only a custom timer runs Python code and lets other threads run. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sm_callstats sm_callstats;

/* Return a new recorder, or NULL with a MemoryError set. */
sm_callstats *sm_callstats_new(void);
/* Stop and free the recorder, without calling its timer. */
void sm_callstats_free(sm_callstats *stats);

/* Set a timer (borrowed, or NULL for the default clock) and its unit in seconds (0 if it returns seconds), and clear
 * the counts. Return -1 with a RuntimeError set while it is on, or from its own timer. */
int sm_callstats_setup(sm_callstats *stats, PyObject *timer, double unit, bool subcalls, bool builtins,
                       bool this_thread);
PyObject *sm_callstats_timer(sm_callstats *stats); /* borrowed, or NULL; for tp_traverse */

/* Start, with each setting 1 or 0, or -1 to keep it. Idempotent. Return -1 with an exception set. */
int sm_callstats_enable(sm_callstats *stats, int subcalls, int builtins);
/* End the running calls and stop. Idempotent. Return -1 with an exception set, also if calls were not counted. */
int sm_callstats_disable(sm_callstats *stats);
/* Clear everything, running calls included. Return -1 with a RuntimeError set from its own timer. */
int sm_callstats_clear(sm_callstats *stats);

/* The statistics of a function, or of a function under one caller. Times are in seconds. */
typedef struct {
    PyObject *code; /* a code object or a str */
    int64_t calls, recursive;
    double total, own;
} sm_callstats_row;

/* Call `visit` for each function, with rows[0] for it and rows[1] to rows[called] for its callees. Rows own
 * references, so Python code may run meanwhile. Return -1 with an exception set. */
typedef int (*sm_callstats_visitor)(void *data, const sm_callstats_row *rows, size_t called);
int sm_callstats_visit(sm_callstats *stats, sm_callstats_visitor visit, void *data);
