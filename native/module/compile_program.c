/* seismo._core.compile_program: compile() for source text, without the 126 classes of syntax trees that it makes. */
#include "module/module.h"

static PyObject *compile_program(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *source, *filename; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "OU:compile_program", &source, &filename))
        return NULL;
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    flags.cf_flags = PyCF_SOURCE_IS_UTF8;
    const char *text;
    Py_ssize_t size;
    if (PyBytes_Check(source)) {
        text = PyBytes_AS_STRING(source);
        size = PyBytes_GET_SIZE(source);
    } else {
        text = PyUnicode_AsUTF8AndSize(source, &size);
        flags.cf_flags |= PyCF_IGNORE_COOKIE;
    }
    if (text == NULL)
        return NULL;
    if (strlen(text) != (size_t)size)
        return PyErr_Format(PyExc_ValueError, "the text has a null byte");
    return Py_CompileStringObject(text, filename, Py_file_input, &flags, -1);
}

PyMethodDef sm_methods_compile_program[] = {
    {"compile_program", compile_program, METH_VARARGS,
     "Compile the text of a program, bytes or a str without null bytes, as compile() does without inherited flags."},
    {NULL, NULL, 0, NULL},
};
