/* The entry of a module's C function in its table of methods. The interpreter takes the function from there at each
 * call, so exchanging it there exchanges it for every reference that a program has. */
#pragma once

#include <Python.h>

/* Return the entry, borrowed from the module's library, or NULL. The module may be NULL. */
PyMethodDef *sm_method_entry(PyObject *module, const char *name);
/* Import the module, and return the entry or NULL, without an exception. */
PyMethodDef *sm_method_entry_in(const char *module, const char *name);
