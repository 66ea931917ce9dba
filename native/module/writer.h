/* seismo._core.Writer: the file writer for Python. */
#ifndef SM_MODULE_WRITER_H
#define SM_MODULE_WRITER_H

#include <Python.h>

/* Add the type to the module. Return 0, or -1 with an exception set. */
int sm_writer_add_type(PyObject *module);

#endif
