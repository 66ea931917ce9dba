/* C functions of other kinds than CPython's own, as the code generators make them. */
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

/* ---- Cython 3: an object that begins as a built-in function does ---- */

typedef struct {
    PyCMethodObject function;
    PyObject *qualname;
} cython_function;

static PyObject *call(PyObject *callable, PyObject *const *args, size_t nargs, PyObject *Py_UNUSED(names)) {
    (void)callable;
    if (PyVectorcall_NARGS(nargs) == 0)
        return PyErr_Format(PyExc_ValueError, "no arguments");
    if (PyCallable_Check(args[0]))
        return PyObject_CallNoArgs(args[0]);
    Py_RETURN_NONE;
}

static PyObject *qualname(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((cython_function *)self)->qualname);
}

static PyObject *bind(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type)) {
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyGetSetDef getset[] = {{"__qualname__", qualname, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyCFunctionObject, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_getset, getset},
                              {Py_tp_members, members},
                              {Py_tp_call, PyVectorcall_Call},
                              {Py_tp_descr_get, bind},
                              {0, NULL}};
static PyType_Spec spec = {"_cython_3_9_9.cython_function_or_method", sizeof(cython_function), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
static PyMethodDef definitions[] = {{"price", NULL, METH_FASTCALL, NULL}, {"tax", NULL, METH_FASTCALL, NULL}};

static PyObject *make_cython(PyTypeObject *type, PyMethodDef *definition, const char *name) {
    cython_function *made = PyObject_New(cython_function, type);
    if (made == NULL)
        return NULL;
    PyCFunctionObject *function = &made->function.func;
    function->m_ml = definition;
    function->m_self = NULL;
    function->m_module = PyUnicode_FromString("shop.prices");
    function->m_weakreflist = NULL;
    function->vectorcall = call;
    made->function.mm_class = NULL;
    made->qualname = PyUnicode_FromString(name);
    return (PyObject *)made;
}

/* ---- mypyc: a type whose name has no module; pybind11: a function bound to a capsule ---- */

static PyObject *nothing(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    Py_RETURN_NONE;
}

static PyMethodDef speak[] = {{"speak", nothing, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot animal_slots[] = {{Py_tp_methods, speak}, {0, NULL}};
static PyType_Spec animal_spec = {"shop.animals.Animal", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, animal_slots};
static PyMethodDef add = {"add", nothing, METH_NOARGS, NULL};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kinds", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_kinds(void) {
    PyObject *module = PyModule_Create(&definition);
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec),
                 *animal = (PyTypeObject *)PyType_FromSpec(&animal_spec);
    PyObject *name = PyUnicode_FromString("shop.sums");
    PyObject *capsule = PyCapsule_New(&add, NULL, NULL);
    if (module == NULL || type == NULL || animal == NULL || name == NULL || capsule == NULL)
        return NULL;
    animal->tp_name = "Animal";
    PyModule_AddObject(module, "price", make_cython(type, &definitions[0], "price"));
    PyModule_AddObject(module, "tax", make_cython(type, &definitions[1], "Order.tax"));
    PyModule_AddObject(module, "Animal", (PyObject *)animal);
    PyModule_AddObject(module, "add", PyCFunction_NewEx(&add, capsule, name));
    return module;
}
