/* sys.monitoring from C, by its Python functions. Callbacks are instances of one static type with a vectorcall
 * function each. Their arguments are borrowed; they return None, sm_monitoring_disable, or NULL with an exception
 * set. */
#ifndef SM_HOOKS_MONITORING_TOOL_H
#define SM_HOOKS_MONITORING_TOOL_H

#include <Python.h>
#include <stdbool.h>

#include "compat/compat.h"

/* sys.monitoring's DISABLE and MISSING, owned after sm_monitoring_find and immortal. */
extern PyObject *sm_monitoring_disable, *sm_monitoring_missing;

int sm_monitoring_find(void);                              /* idempotent; -1 with an exception set, as all below */
PyObject *sm_monitoring_callback(vectorcallfunc function); /* a new reference */
#if SM_HAS_FIRED_EVENTS
PyObject *sm_monitoring_guarded(vectorcallfunc behind, PyObject *self, PyObject *const *args, size_t nargs);
#endif
int sm_monitoring_take(const char *name, const int order[6]);            /* the first free tool id in this order */
bool sm_monitoring_holds(int tool_id, const char *name);                 /* true while the tool id is ours */
long sm_monitoring_number(const char *name);                             /* returns this version's bit of an event */
int sm_monitoring_register(int tool_id, long event, PyObject *callback); /* NULL removes it */
int sm_monitoring_set(int tool_id, long events);
int sm_monitoring_set_local(int tool_id, PyCodeObject *code, long events);
int sm_monitoring_restart(void);
void sm_monitoring_free(int tool_id); /* after removing events and callbacks; clears exceptions */

#endif
