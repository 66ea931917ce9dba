/* Converts a Python argument to a filter. */
#pragma once

#include <Python.h>

#include "filter/filter.h"

/* Return the _core.Filter's filter, borrowed (sm_filter_hold keeps it), or NULL with a TypeError set. */
sm_filter *sm_filter_from(PyObject *filter);
