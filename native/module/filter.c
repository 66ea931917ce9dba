/* seismo._core.Filter: the compiled program of an expression. Its methods evaluate it for tests, with facts in a dict.
 */
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
    if (filter == NULL) {
        if (*error == '\0')
            return PyErr_NoMemory();
        PyErr_SetString(PyExc_ValueError, error);
        return NULL;
    }
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
/* Return True, False or None for a verdict, a new reference. */
static PyObject *answer(sm_verdict verdict) {
    return Py_NewRef(verdict == SM_YES ? Py_True : verdict == SM_NO ? Py_False : Py_None);
}

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

/* ---- an event from a dict ---- */

static const char *const fact_names[SM_THREAD_FACTS] = {
    [SM_FACT_MODULE] = "module",     [SM_FACT_QUALNAME] = "qualname", [SM_FACT_FILE] = "file",
    [SM_FACT_THREAD] = "thread",     [SM_FACT_TASK] = "task",         [SM_FACT_EXCEPTION] = "exception",
    [SM_FACT_LINE] = "line",         [SM_FACT_DEPTH] = "depth",       [SM_FACT_CALLS] = "calls",
    [SM_FACT_DURATION] = "duration", [SM_FACT_OWN] = "own",
};

static PyObject *fact(PyObject *facts, const char *name) { /* borrowed, or NULL if unknown */
    PyObject *value = PyDict_GetItemString(facts, name);
    return value == Py_None ? NULL : value;
}

static bool dict_number(void *context, sm_fact which, int64_t *value) {
    PyObject *number = fact(context, fact_names[which]);
    if (number == NULL || !PyLong_Check(number))
        return false;
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow == 0;
}

static const char *utf8(PyObject *text) {
    const char *data = text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    if (data == NULL)
        PyErr_Clear();
    return data;
}

static const char *dict_text(void *context, sm_fact which) {
    return utf8(fact(context, fact_names[which]));
}

/* Make a function without a code object from the facts; valid as long as the dict. */
static bool function_from(PyObject *facts, const char *module, const char *qualname, sm_function *function) {
    PyObject *line = fact(facts, "line");
    const char *texts[] = {utf8(fact(facts, module)), utf8(fact(facts, qualname)), utf8(fact(facts, "file"))};
    *function = (sm_function){.kind = SM_PYTHON,
                              .line = line != NULL && PyLong_Check(line) ? (int)PyLong_AsLong(line) : 0,
                              .module = (char *)(texts[0] ? texts[0] : ""),
                              .qualname = (char *)(texts[1] ? texts[1] : ""),
                              .file = (char *)(texts[2] ? texts[2] : "")};
    return texts[1] != NULL && !PyErr_Occurred();
}

static PyObject *filter_of_event(PyObject *self, PyObject *arguments) {
    int kind;
    PyObject *given; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "iO!:of_event", &kind, &PyDict_Type, &given))
        return NULL;
    if (kind < 0 || kind >= SM_EVENT_KINDS)
        return PyErr_Format(PyExc_ValueError, "there is no kind of event with the number %d", kind);
    sm_function function, callee;
    bool known = function_from(given, "module", "qualname", &function);
    bool callee_known = function_from(given, "callee_module", "callee_qualname", &callee);
    if (PyErr_Occurred())
        return NULL;
    PyObject *exception = fact(given, "exception");
    sm_thread_facts facts = {
        .kind = (sm_event_kind)kind,
        .function = known ? &function : NULL,
        .line = function.line,
        .callee = callee_known ? &callee : NULL,
        .exception = exception == Py_False ? Py_None : exception,
        .number = dict_number,
        .text = dict_text,
        .context = given,
    };
    const sm_filter *filter = ((filter_object *)self)->filter;
    sm_filter_code of = sm_filter_of_code(filter, facts.function, NULL);
    uint32_t bit = SM_EVENT_BIT(kind);
    sm_verdict whole = sm_filter_of_event(filter, &of, &facts);
    /* A verdict on an event must not contradict that on its function. */
    if (known && (((of.yes & bit) != 0 && whole != SM_YES) || (((of.yes | of.maybe) & bit) == 0 && whole != SM_NO)))
        return PyErr_Format(PyExc_AssertionError, "a verdict of %d for a code object with %x and %x", (int)whole,
                            of.yes, of.maybe);
    return answer(whole);
}

static PyMethodDef filter_methods[] = {
    {"of_code", filter_of_code, METH_VARARGS,
     "Return the kinds of events that are certainly wanted of this code object, and those that may be, as bits."},
    {"of_event", filter_of_event, METH_VARARGS,
     "Return whether an event of this kind (a number) with the facts of the dict is wanted. None: that depends on "
     "facts that are not known."},
    {NULL, NULL, 0, NULL},
};

static PyObject *core_glob(PyObject *Py_UNUSED(module), PyObject *arguments) {
    const char *pattern, *text;
    Py_ssize_t pattern_size, text_size;
    if (!PyArg_ParseTuple(arguments, "y#y#:_glob", &pattern, &pattern_size, &text, &text_size))
        return NULL;
    return PyBool_FromLong(sm_glob(pattern, (size_t)pattern_size, text, (size_t)text_size));
}

static PyMethodDef filter_functions[] = {
    {"_glob", core_glob, METH_VARARGS, "Return whether the pattern matches the text, both as UTF-8."},
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
    if (filter_type == NULL || PyModule_AddType(module, filter_type) < 0)
        return -1;
#ifdef SM_TESTING
    return PyModule_AddFunctions(module, filter_functions);
#else
    return 0;
#endif
}
