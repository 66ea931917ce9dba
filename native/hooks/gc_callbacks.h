/* Reports the cycle collector's pauses, invisibly to the program. The interpreter calls the functions of the list
 * gc.callbacks around each collection. A program would notice our function there, so we give the interpreter another
 * list, whose only function also calls the program's. */
#pragma once

#include <Python.h>
#include <stdbool.h>

typedef struct {
    bool begins;
    PyObject *info; /* borrowed; the interpreter's dict */
} sm_pause;

/* Return "generation" or, at the end, "collected" or "uncollectable" objects, or 0 if the dict lacks it. */
long sm_pause_number(const sm_pause *pause, const char *name);

/* A callback, called with the GIL in the collecting thread. The program's own callbacks are not part of the pause. */
typedef void (*sm_pause_call)(const sm_pause *pause);

/* Set the callback, or remove it with NULL. Return false if pauses cannot be reported. With the GIL. */
bool sm_collector_notify(sm_pause_call call);
