/* From a Python argument to a filter. */
#ifndef SM_MODULE_FILTER_H
#define SM_MODULE_FILTER_H

#include <Python.h>

#include "filter/filter.h"

/* The _core.Filter's filter, borrowed from it (sm_filter_hold keeps it); NULL with TypeError set. */
sm_filter *sm_filter_from(PyObject *filter);

#endif
