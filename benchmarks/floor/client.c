/* An empty callback that comes through seismo.h: the cost that seismo itself adds to a hook.
 *
 *   load()         find the installed seismo; ImportError where its API does not fit
 *   profile()      an empty profile function on all threads; the result names the hook
 *   remove(hook)   remove it; True if it was set
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <seismo.h>

static int empty_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    return 0;
}

static PyObject *load(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return seismo_import() < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *profile(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    uint64_t hook = seismo->set_profile(empty_profile, NULL, NULL, NULL);
    return hook ? PyLong_FromUnsignedLongLong(hook) : NULL;
}

static PyObject *take_away(PyObject *module, PyObject *hook) {
    (void)module;
    uint64_t number = PyLong_AsUnsignedLongLong(hook);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(seismo->remove(number));
}

static PyMethodDef functions[] = {
    {"load", load, METH_NOARGS, "load(): find the installed seismo. ImportError: none fits."},
    {"profile", profile, METH_NOARGS, "profile(): an empty profile function on all threads; its hook."},
    {"remove", take_away, METH_O, "remove(hook): remove it; True if it was set."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "floor_client", .m_doc = "Empty callbacks.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_floor_client(void) {
    return PyModule_Create(&definition);
}
