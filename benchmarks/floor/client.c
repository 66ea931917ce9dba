/* Empty callbacks that come through seismo.h: what seismo itself adds to the price of a hook.
 *
 *   load()         find the installed seismo; ImportError where its API does not fit
 *   profile()      an empty profile function on all threads; the result names the hook
 *   references()   an empty callback for objects made and destroyed, on all threads
 *   remove(hook)   take it away; whether it was there
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <seismo.h>

static int empty_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    return 0;
}

static int empty_reference(PyObject *object, int event, void *data) {
    (void)object, (void)event, (void)data;
    return 0;
}

static PyObject *load(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return seismo_import() < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *named(uint64_t hook) {
    return hook ? PyLong_FromUnsignedLongLong(hook) : NULL;
}

static PyObject *profile(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return named(seismo->set_profile(empty_profile, NULL, NULL, NULL));
}

static PyObject *references(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return named(seismo->set_ref_tracer(empty_reference, NULL, NULL, NULL));
}

static PyObject *take_away(PyObject *module, PyObject *hook) {
    (void)module;
    uint64_t number = PyLong_AsUnsignedLongLong(hook);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(seismo->remove(number));
}

static PyMethodDef functions[] = {
    {"load", load, METH_NOARGS, "load(): find the installed seismo. ImportError: there is none that fits."},
    {"profile", profile, METH_NOARGS, "profile(): an empty profile function on all threads; its hook."},
    {"references", references, METH_NOARGS, "references(): an empty callback for objects on all threads; its hook."},
    {"remove", take_away, METH_O, "remove(hook): take it away; whether it was there."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "floor_client", .m_doc = "Empty callbacks.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_floor_client(void) {
    return PyModule_Create(&definition);
}
