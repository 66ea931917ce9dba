/* What engine.c asks of coverage.c. */
#ifndef SM_MODULE_COVERAGE_H
#define SM_MODULE_COVERAGE_H

#include <Python.h>

PyObject *sm_module_coverage_status(void); /* a new dict, or NULL with an exception set */

#endif
