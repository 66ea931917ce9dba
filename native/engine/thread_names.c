/* The name of a thread, and what began it. Names are threading's: the running thread is in threading._active, or, if it
 * is just beginning, the `self` of Thread._bootstrap, its first frame. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/threads.h"

static void copy_chars(char *to, size_t room, const char *from, size_t size) {
    if (size >= room) {
        size = room - 1;
        while (size > 0 && ((unsigned char)from[size] & 0xC0) == 0x80)
            size--; /* not within a character */
    }
    memcpy(to, from, size);
    to[size] = '\0';
}

static void copy_text(char *to, size_t room, PyObject *text) {
    if (text == NULL || !PyUnicode_Check(text))
        return;
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    if (bytes == NULL)
        return;
    copy_chars(to, room, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
}

static bool is_bootstrap(const PyCodeObject *code) {
    const char *name = PyUnicode_AsUTF8(code->co_qualname);
    return name != NULL && strcmp(name, "Thread._bootstrap") == 0;
}

/* Return an attribute without __getattribute__ and __getattr__, which may be code of the program. */
static PyObject *attribute(PyObject *object, const char *name) {
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *value = text ? PyObject_GenericGetAttr(object, text) : NULL;
    Py_XDECREF(text);
    return value;
}

static PyObject *of_active(const sm_thread *thread, PyObject *threading) {
    PyObject *active = PyObject_GetAttrString(threading, "_active");
    PyObject *ident = PyLong_FromUnsignedLong((unsigned long)thread->pthread);
    PyObject *object = active && ident && PyDict_Check(active) ? PyDict_GetItem(active, ident) : NULL;
    Py_XINCREF(object);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    return object;
}

static PyFrameObject *outermost(void) {
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyFrameObject *back = NULL;
    while (frame != NULL && (back = PyFrame_GetBack(frame)) != NULL)
        Py_SETREF(frame, back);
    return frame;
}

static PyObject *of_frame(PyFrameObject *frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *locals = is_bootstrap(code) ? PyObject_GetAttrString((PyObject *)frame, "f_locals") : NULL;
    PyObject *object = locals ? PyMapping_GetItemString(locals, "self") : NULL;
    Py_DECREF(code);
    Py_XDECREF(locals);
    return object;
}

typedef struct {
    char name[sizeof((sm_thread *)0)->name], entry[sizeof((sm_thread *)0)->entry];
} names;

/* Find what a thread of threading runs: the name of its target, or of its own type. Runs no code of the program. */
static void name_target(names *found, PyObject *object) {
    PyObject *target = attribute(object, "_target");
    PyObject *function = target && PyMethod_Check(target) ? PyMethod_GET_FUNCTION(target) : target;
    if (function != NULL && PyFunction_Check(function))
        copy_text(found->entry, sizeof found->entry, ((PyFunctionObject *)function)->func_qualname);
    else
        strncpy(found->entry, Py_TYPE(target == NULL || target == Py_None ? object : target)->tp_name,
                sizeof found->entry - 1);
    Py_XDECREF(target);
}

static void find_names(const sm_thread *thread, names *found, bool entry, PyCodeObject *code, PyObject *self) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *object = threading ? of_active(thread, threading) : NULL;
    PyFrameObject *frame = outermost();
    if (object == NULL && threading != NULL && frame != NULL)
        object = of_frame(frame);
    else if (object == NULL && threading != NULL && self != NULL && is_bootstrap(code))
        object = Py_NewRef(self);
    PyObject *name = object ? attribute(object, "_name") : NULL;
    copy_text(found->name, sizeof found->name, name);
    if (entry && object != NULL)
        name_target(found, object);
    else if (entry && (frame != NULL || code != NULL)) {
        PyCodeObject *first = frame ? PyFrame_GetCode(frame) : (PyCodeObject *)Py_NewRef(code);
        copy_text(found->entry, sizeof found->entry, first->co_qualname);
        Py_DECREF(first);
    }
    Py_XDECREF(name);
    Py_XDECREF(object);
    Py_XDECREF(frame);
    PyErr_Clear();
}

/* Put the interpreter's number before the name. */
static void add_interpreter(names *found) {
    char before[32], name[sizeof found->name + sizeof before + 2];
    int64_t number = PyInterpreterState_GetID(PyInterpreterState_Get());
    int size = snprintf(before, sizeof before, "interpreter %" PRId64, number);
    if (strncmp(found->name, before, (size_t)size) == 0)
        return;
    snprintf(name, sizeof name, found->name[0] != '\0' ? "%s: %s" : "%s%s", before, found->name);
    copy_chars(found->name, sizeof found->name, name, strlen(name));
}

void sm_thread_find_name(sm_thread *thread, bool entry, PyCodeObject *code, PyObject *self) {
    names found = {"", ""};
    strcpy(found.name, thread->name);
    strcpy(found.entry, thread->entry);
    if (thread->main)
        strcpy(found.name, "MainThread");
    else
        find_names(thread, &found, entry, code, self);
    if (!sm_is_main_interpreter())
        add_interpreter(&found);
    sm_engine_lock();
    strcpy(thread->name, found.name);
    strcpy(thread->entry, found.entry);
    sm_engine_unlock();
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Return the length of the number at `text`: digits, or at least eight hexadecimal characters with a digit. */
static size_t number_at(const char *text, bool in_word) {
    size_t digits = 0, hex = 0, among = 0;
    while (is_digit(text[digits]))
        digits++;
    while (is_hex(text[hex]))
        among += is_digit(text[hex++]);
    return !in_word && hex >= 8 && among > 0 ? hex : digits;
}

void sm_thread_pattern(char *pattern, const char *name, size_t room) {
    const char *target = strstr(name, " ("); /* threading's default names end with the target, which is no number */
    size_t size = 0;
    bool in_word = false;
    for (const char *at = name; *at != '\0' && size + 1 < room;) {
        size_t number = target == NULL || at < target ? number_at(at, in_word) : 0;
        if (number > 0 && (size == 0 || pattern[size - 1] != '*'))
            pattern[size++] = '*';
        else if (number == 0)
            pattern[size++] = *at;
        in_word = number == 0 && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'));
        at += number > 0 ? number : 1;
    }
    pattern[size] = '\0';
}
