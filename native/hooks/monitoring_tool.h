/* sys.monitoring from C: the interpreter has no C functions to register callbacks with, so its Python functions are
 * called, with callbacks that are C functions all the same: instances of one static type that carry their own
 * vectorcall function, which costs a third of a profile function.
 *
 * A callback's arguments are borrowed. It answers None, sm_monitoring_disable, or NULL with an exception. */
#ifndef SM_HOOKS_MONITORING_TOOL_H
#define SM_HOOKS_MONITORING_TOOL_H

#include <Python.h>
#include <stdbool.h>

#include "compat/compat.h"

/* Owned, after sm_monitoring_find: sys.monitoring's DISABLE and MISSING. Immortal wherever there is sys.monitoring, as
 * None is: an answer needs no reference counted. */
extern PyObject *sm_monitoring_disable, *sm_monitoring_missing;

/* Each of those that return int: -1 with an exception. */
int sm_monitoring_find(void);                              /* first of all; idempotent */
PyObject *sm_monitoring_callback(vectorcallfunc function); /* a new reference */
#if SM_HAS_FIRED_EVENTS
/* A callback's answer to an event that comes with an exception set: see monitoring_tool.c. */
PyObject *sm_monitoring_guarded(vectorcallfunc behind, PyObject *self, PyObject *const *args, size_t nargs);
#endif
int sm_monitoring_take(const char *name, const int order[6]);            /* the first free tool id, in this order */
bool sm_monitoring_holds(int tool_id, const char *name);                 /* still ours? */
long sm_monitoring_number(const char *name);                             /* its bit, as this version numbers events */
int sm_monitoring_register(int tool_id, long event, PyObject *callback); /* NULL: none */
int sm_monitoring_set(int tool_id, long events);
int sm_monitoring_set_local(int tool_id, PyCodeObject *code, long events);
int sm_monitoring_restart(void);
void sm_monitoring_free(int tool_id); /* events and callbacks have to be taken off first; clears exceptions */

#endif
