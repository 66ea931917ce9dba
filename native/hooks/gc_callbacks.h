/* Who is told of the cycle collector's pauses, unseen by the program.
 *
 * The interpreter calls what is in a list around each collection, and gc.callbacks is that list: a function in it would
 * be seen by the program, which may count it, clear it, or compare it. So while pauses are told, the interpreter has
 * another list, with one function, which calls what is in the program's list as the interpreter would. The program's
 * list stays what and where it was, and what is put into it holds at once. */
#ifndef SM_HOOKS_GC_CALLBACKS_H
#define SM_HOOKS_GC_CALLBACKS_H

#include <Python.h>
#include <stdbool.h>

typedef struct {
    bool begins;
    PyObject *info; /* borrowed: what the interpreter tells of it */
} sm_pause;

/* "generation"; where it ends, "collected" and "uncollectable" objects. 0: not told. */
long sm_pause_number(const sm_pause *pause, const char *name);

/* From the thread that collects, with the GIL, at a place where Python code could run: the program's own callbacks are
 * no part of the pause. */
typedef void (*sm_pause_call)(const sm_pause *pause);

/* From now on, until NULL is given. False: this interpreter does not tell, or there is no memory. Imports gc, so that
 * the module takes the program's list for its own. With the GIL. */
bool sm_collector_tell(sm_pause_call call);

#endif
