/* seismo._core.Filter: the compiled program of an expression. Its methods evaluate it for tests. */
#include "filter/filter.h"

#include "engine/recording.h"
#include "module/module.h"

typedef struct {
    PyObject_HEAD sm_filter *filter; /* held */
} filter_object;

static PyTypeObject *filter_type = NULL; /* owned; the module is loaded once in a process */

sm_filter *sm_filter_from(PyObject *filter) {
    if (filter_type != NULL && Py_IS_TYPE(filter, filter_type))
        return ((filter_object *)filter)->filter;
    PyErr_Format(PyExc_TypeError, "expected a Filter, not %.100s", Py_TYPE(filter)->tp_name);
    return NULL;
}

static PyObject *filter_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"program", NULL};
    Py_buffer program;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*:Filter", names, &program))
        return NULL;
    if (sm_engine_init() < 0) { /* makes the names of functions available */
        PyBuffer_Release(&program);
        return NULL;
    }
    const char *error;
    sm_filter *filter = sm_filter_new(program.buf, (size_t)program.len, &error);
    PyBuffer_Release(&program);
    if (filter == NULL)
        return *error == '\0' ? PyErr_NoMemory() : PyErr_Format(PyExc_ValueError, "%s", error);
    filter_object *self = (filter_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        sm_filter_release(filter);
    else
        self->filter = filter;
    return (PyObject *)self;
}

static void filter_dealloc(PyObject *self) {
    sm_filter_release(((filter_object *)self)->filter);
    sm_object_free(self);
}

static PyObject *filter_kinds(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLong(sm_filter_kinds(((filter_object *)self)->filter));
}

#ifdef SM_TESTING
static PyObject *filter_of_code(PyObject *self, PyObject *arguments) {
    PyObject *code, *globals = Py_None;
    if (!PyArg_ParseTuple(arguments, "O!|O:of_code", &PyCode_Type, &code, &globals))
        return NULL;
    const sm_function *function = sm_function_of_code((PyCodeObject *)code, globals == Py_None ? NULL : globals);
    if (function == NULL)
        return PyErr_NoMemory();
    sm_filter_code of = sm_filter_of_code(((filter_object *)self)->filter, function, (PyCodeObject *)code);
    return Py_BuildValue("II", of.yes, of.maybe);
}

/* The facts of an event in a tuple, by their numbers from SM_FACT_THREAD on; None for one that is not known. */
static PyObject *fact(void *facts, sm_fact which) {
    return PyTuple_GET_ITEM(facts, (Py_ssize_t)(which - SM_FACT_THREAD));
}

static bool tuple_number(void *facts, sm_fact which, int64_t *value) {
    PyObject *number = fact(facts, which);
    *value = number != Py_None ? PyLong_AsLongLong(number) : 0;
    return number != Py_None;
}

static const char *tuple_text(void *facts, sm_fact which) {
    return fact(facts, which) != Py_None ? PyUnicode_AsUTF8(fact(facts, which)) : NULL;
}

static PyObject *filter_of_event(PyObject *self, PyObject *arguments) {
    const sm_filter *filter = ((filter_object *)self)->filter;
    sm_function function = {.kind = SM_PYTHON}, callee = function;
    sm_thread_facts facts = {.number = tuple_number, .text = tuple_text, .function = &function};
    PyObject *given; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "isss(zz)iO!:of_event", &facts.kind, &function.module, &function.qualname,
                          &function.file, &callee.module, &callee.qualname, &facts.line, &PyTuple_Type, &given))
        return NULL;
    PyObject *exception = fact(given, SM_FACT_EXCEPTION);
    function.line = facts.line;
    facts.context = given;
    facts.callee = callee.qualname != NULL ? &callee : NULL;
    facts.exception = exception == Py_None ? NULL : exception == Py_False ? Py_None : exception;
    sm_filter_code of = sm_filter_of_code(filter, &function, NULL);
    sm_verdict verdict = sm_filter_of_event(filter, &of, &facts);
    PyObject *answer = verdict == SM_YES ? Py_True : verdict == SM_NO ? Py_False : Py_None;
    return Py_BuildValue("OII", answer, of.yes, of.maybe);
}

static PyObject *filter_glob(PyObject *Py_UNUSED(self), PyObject *arguments) {
    const char *pattern, *text;
    Py_ssize_t pattern_size, text_size;
    if (!PyArg_ParseTuple(arguments, "y#y#:_glob", &pattern, &pattern_size, &text, &text_size))
        return NULL;
    return PyBool_FromLong(sm_glob(pattern, (size_t)pattern_size, text, (size_t)text_size));
}

static PyMethodDef filter_methods[] = {
    {"of_code", filter_of_code, METH_VARARGS,
     "Return the kinds of events that are certainly wanted of this code object, and those that may be, as bits."},
    {"of_event", filter_of_event, METH_VARARGS,
     "Return whether an event is wanted, and of_code() of its function. None: that depends on facts that are not "
     "known. Takes kind, module, qualname, file, (module and qualname of the callee), line and the other facts: "
     "thread, task, exception, (anything), depth, calls, duration, own."},
    {"_glob", filter_glob, METH_VARARGS | METH_STATIC, "Return whether the pattern matches the text, both as UTF-8."},
    {NULL, NULL, 0, NULL},
};
#endif

static PyGetSetDef filter_attributes[] = {
    {"kinds", filter_kinds, NULL, "The kinds of events that can be wanted at all, as bits.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot filter_slots[] = {
    {Py_tp_new, filter_new},
    {Py_tp_dealloc, filter_dealloc},
#ifdef SM_TESTING
    {Py_tp_methods, filter_methods},
#endif
    {Py_tp_getset, filter_attributes},
    {Py_tp_doc,
     "Filter(program)\n--\n\nA compiled expression. program: the bytes of seismo.expression.Expression.program."},
    {0, NULL},
};

static PyType_Spec filter_spec = {
    .name = "seismo._core.Filter",
    .basicsize = sizeof(filter_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = filter_slots,
};

int sm_module_add_filter(PyObject *module) {
    if (filter_type == NULL)
        filter_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &filter_spec, NULL);
    return filter_type == NULL ? -1 : PyModule_AddType(module, filter_type);
}
