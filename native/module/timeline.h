/* What seismo._core.Journal has from other files of this folder. */
#ifndef SM_MODULE_TIMELINE_H
#define SM_MODULE_TIMELINE_H

#include <Python.h>

#include "journal/call.h"

/* The method `cut` of seismo._core.Journal (cut.c). */
PyObject *sm_journal_cut(const sm_journal *journal, PyObject *arguments);

#endif
