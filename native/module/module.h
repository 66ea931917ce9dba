/* The pieces of the extension module: each file of this folder adds its own functions and types. */
#ifndef SM_MODULE_H
#define SM_MODULE_H

#include <Python.h>

/* Each returns 0, or -1 with a Python exception set. */
int sm_module_add_engine(PyObject *module); /* start, stop, snapshot, status ... (engine.c) */
int sm_module_add_reader(PyObject *module); /* read, Writer (reader.c) */
int sm_module_add_model(PyObject *module);  /* estimate, aggregate, combine (model_functions.c) */
int sm_module_add_arrow(PyObject *module);  /* arrow_stream (arrow.c) */
int sm_module_add_filter(PyObject *module); /* Filter (filter.c) */
int sm_module_add_watch(PyObject *module);  /* Watch, frame_locals ... (watch.c) */

#endif
