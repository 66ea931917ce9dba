/* Terms on the interpreter's objects. Their fields are read directly, so no object is made and nothing raised. */
#include "base/varint.h"
#include "code/linewalk.h"
#include "code/text.h"
#include "filter/program.h"

#include <string.h>

/* ---- lines ---- */

void sm_filter_lines(const sm_filter_node *node, PyCodeObject *code, bool *any, bool *all) {
    *any = false;
    *all = true;
    bool reported = false, inside = false;
    int64_t reported_line = 0;
    for (sm_line_walk walk = sm_line_walk_of(code); sm_line_next(&walk);) {
        if (!walk.has_line)
            continue;
        if (!reported || walk.line != reported_line) { /* usually the line is the same */
            inside = sm_filter_inside(node, walk.line);
            reported = true;
            reported_line = walk.line;
        }
        *any = *any || inside;
        *all = *all && inside;
    }
    *all = *all && *any;
}

/* ---- variables ---- */

static bool is_ascii(PyObject *str, const uint8_t *text, uint32_t size) {
    return PyUnicode_Check(str) && PyUnicode_IS_COMPACT_ASCII(str) && PyUnicode_GET_LENGTH(str) == (Py_ssize_t)size &&
           memcmp(PyUnicode_DATA(str), text, size) == 0;
}

bool sm_filter_has_variable(const sm_filter_node *node, PyCodeObject *code) {
    uint32_t size = sm_get_u32(node->data);
    const uint8_t *name = node->data + 4;
    PyObject *names = code->co_localsplusnames;
    Py_ssize_t count = PyTuple_GET_SIZE(names);
    if (node->fact == SM_FACT_ARG) { /* parameters come first */
        Py_ssize_t parameters = (Py_ssize_t)code->co_argcount + code->co_kwonlyargcount +
                                ((code->co_flags & CO_VARARGS) != 0) + ((code->co_flags & CO_VARKEYWORDS) != 0);
        count = parameters < count ? parameters : count;
    } else if ((code->co_flags & CO_OPTIMIZED) == 0) {
        return true; /* a module or class body has its variables in a dict */
    }
    for (uint32_t i = 0; i < size; i++)
        if (name[i] >= 0x80)
            return count > 0; /* the Python fallback decides such names */
    for (Py_ssize_t i = 0; i < count; i++)
        if (is_ascii(PyTuple_GET_ITEM(names, i), name, size))
            return true;
    return false;
}

/* ---- exceptions ---- */

#define NAME_SIZE 512

/* Append the str as UTF-8, as far as there is room. Surrogates pass through. */
static size_t append(char *to, size_t at, PyObject *str) {
    if (str == NULL || !PyUnicode_Check(str))
        return at;
    int kind = PyUnicode_KIND(str);
    const void *data = PyUnicode_DATA(str);
    for (Py_ssize_t i = 0, n = PyUnicode_GET_LENGTH(str); i < n && at + 5 < NAME_SIZE; i++)
        at = (size_t)(sm_put_character(to + at, PyUnicode_READ(kind, data, i)) - to);
    return at;
}

/* Return the class's own __module__, borrowed, or NULL. A lookup would have to make the key, so the dict is walked. */
static PyObject *module_of(PyTypeObject *type) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(type->tp_dict, &at, &key, &value))
        if (is_ascii(key, (const uint8_t *)"__module__", 10))
            return PyUnicode_Check(value) ? value : NULL;
    return NULL;
}

static bool class_matches(const sm_filter_node *node, PyTypeObject *type) {
    char names[3][NAME_SIZE]; /* name, module.name, module.qualname */
    const char *texts[3] = {names[0], NULL, NULL};
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) { /* "module.name", or "name" for builtin ones */
        const char *dot = strrchr(type->tp_name, '.');
        size_t size = strlen(type->tp_name);
        texts[0] = dot != NULL ? dot + 1 : type->tp_name;
        texts[1] = type->tp_name;
        if (dot == NULL && size + 10 < NAME_SIZE) {
            memcpy(names[1], "builtins.", 9);
            memcpy(names[1] + 9, type->tp_name, size + 1);
            texts[1] = names[1];
        }
        return sm_filter_any(node, texts, 2);
    }
    PyHeapTypeObject *heap = (PyHeapTypeObject *)type;
    names[0][append(names[0], 0, heap->ht_name)] = '\0';
    PyObject *module = module_of(type);
    for (int i = 1; i < 3 && module != NULL; i++) {
        size_t at = append(names[i], 0, module);
        names[i][at++] = '.';
        names[i][append(names[i], at, i == 1 ? heap->ht_name : heap->ht_qualname)] = '\0';
        texts[i] = names[i];
    }
    return sm_filter_any(node, texts, 3);
}

bool sm_filter_exception(const sm_filter_node *node, PyObject *exception) {
    PyTypeObject *type = PyType_Check(exception) ? (PyTypeObject *)exception : Py_TYPE(exception);
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != NULL && PyTuple_Check(mro) && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *base = PyTuple_GET_ITEM(mro, i);
        if (PyType_Check(base) && class_matches(node, (PyTypeObject *)base))
            return true;
    }
    return false;
}
