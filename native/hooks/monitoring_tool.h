/* Uses sys.monitoring from C, through its Python functions. Callbacks are instances of one static type with a
 * vectorcall function each. Their arguments are borrowed; they return None, sm_monitoring_disable, or NULL with an
 * exception set. */
#pragma once

#include <Python.h>
#include <stdbool.h>

#include "compat/compat.h"

/* sys.monitoring's DISABLE and MISSING, owned after sm_monitoring_find and immortal. */
extern PyObject *sm_monitoring_disable, *sm_monitoring_missing;

/* Find sys.monitoring, before all other calls. This function and those below that return an int return -1 with an
 * exception set if they fail. */
int sm_monitoring_find(void);
/* Return a new callback. */
PyObject *sm_monitoring_callback(vectorcallfunc function);
#if SM_HAS_FIRED_EVENTS
PyObject *sm_monitoring_guarded(vectorcallfunc behind, PyObject *self, PyObject *const *args, size_t nargs);
#endif
#if SM_SHARES_LOCK_LATER
/* Make the core's lock shared: from now on each callback takes it first. In the main interpreter. */
void sm_monitoring_share(void);
#endif
/* The functions below act on the running interpreter. Take and return the first free tool id in this order. */
int sm_monitoring_take(const char *name, const int order[6]);
/* Return true while the tool id is ours. */
bool sm_monitoring_holds(int tool_id, const char *name);
/* Return the bit of an event in this version of Python. */
long sm_monitoring_number(const char *name);
/* Register a callback, or remove it if NULL. */
int sm_monitoring_register(int tool_id, long event, PyObject *callback);
int sm_monitoring_set(int tool_id, long events);
int sm_monitoring_set_local(int tool_id, PyCodeObject *code, long events);
int sm_monitoring_restart(void);
/* Call a function for the code of each frame that runs on any thread, perhaps more than once. Return false if out of
 * memory for some of them. */
bool sm_monitoring_each_running(void (*visit)(PyCodeObject *code, PyObject *globals));
/* Remove the tool's global events and its callbacks, and free its id. Clears exceptions. */
void sm_monitoring_free(int tool_id);
