#include "code/text.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "compat/compat.h"

enum { MARK_SIZE = 64 };

char *sm_put_character(char *at, Py_UCS4 character) {
    if (character < 0x80) {
        *at++ = (char)character;
    } else if (character < 0x800) {
        *at++ = (char)(0xC0 | character >> 6);
        *at++ = (char)(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        *at++ = (char)(0xE0 | character >> 12);
        *at++ = (char)(0x80 | (character >> 6 & 0x3F));
        *at++ = (char)(0x80 | (character & 0x3F));
    } else {
        *at++ = (char)(0xF0 | character >> 18);
        *at++ = (char)(0x80 | (character >> 12 & 0x3F));
        *at++ = (char)(0x80 | (character >> 6 & 0x3F));
        *at++ = (char)(0x80 | (character & 0x3F));
    }
    return at;
}

/* Write a mark in place of the rest of a long text. Its checksum distinguishes texts with the same beginning. */
static char *put_mark(char *at, const void *data, size_t bytes, size_t left_out) {
    uint64_t hash = sm_hash_bytes(SM_HASH_START, data, bytes);
    return at + snprintf(at, MARK_SIZE, "\xE2\x80\xA6[+%zu characters, %08x]", left_out, (unsigned)(hash >> 32));
}

char *sm_copy_text(PyObject *text) {
    if (text == NULL || !PyUnicode_Check(text) || !sm_str_is_ready(text))
        return sm_copy_chars("");
    size_t length = (size_t)PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    size_t most = PyUnicode_IS_ASCII(text)       ? 1
                  : kind == PyUnicode_1BYTE_KIND ? 2
                  : kind == PyUnicode_2BYTE_KIND ? 3
                                                 : 4;
    size_t kept = length > SM_LONGEST_TEXT ? SM_LONGEST_TEXT : length;
    char *copy = sm_malloc(kept * most + MARK_SIZE), *at = copy;
    if (copy == NULL)
        return NULL;
    const void *data = PyUnicode_DATA(text);
    if (PyUnicode_IS_ASCII(text)) {
        memcpy(copy, data, kept);
        at += kept;
    } else {
        for (size_t i = 0; i < kept; i++)
            at = sm_put_character(at, PyUnicode_READ(kind, data, (Py_ssize_t)i));
    }
    if (kept < length)
        at = put_mark(at, data, length * (size_t)kind, length - kept);
    *at = '\0';
    return copy;
}

#if SM_FREE_THREADED
#define MOST_TRIES 100000 /* some tens of milliseconds: longer than any operation on a dict but that on a huge one */

/* Return true if a critical section of this thread has the lock. Only the sections up to the first inactive one have.
 */
static bool is_ours(const PyMutex *mutex) {
    enum { INACTIVE = 1, TWO = 2 };
    for (uintptr_t at = PyThreadState_Get()->critical_section; at != 0 && (at & INACTIVE) == 0;) {
        const PyCriticalSection *section = (const PyCriticalSection *)(at & ~(uintptr_t)(INACTIVE | TWO));
        if (section->_cs_mutex == mutex ||
            ((at & TWO) != 0 && ((const PyCriticalSection2 *)section)->_cs_mutex2 == mutex))
            return true;
        at = section->_cs_prev;
    }
    return false;
}

static bool lock_now(PyMutex *mutex) {
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        uint8_t bits = __atomic_load_n(&mutex->_bits, __ATOMIC_RELAXED);
        if ((bits & 1) == 0 && __atomic_compare_exchange_n(&mutex->_bits, &bits, (uint8_t)(bits | 1), false,
                                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
        (void)sched_yield();
    }
    return false;
}

/* PyDict_GetItem() would wait for the dict's lock detached, if another thread changes it. */
int sm_look_up(PyObject *dict, PyObject *name, char **text) {
    bool ours = dict != NULL && is_ours(&dict->ob_mutex);
    if (text != NULL)
        *text = NULL;
    if (dict != NULL && !ours && !lock_now(&dict->ob_mutex))
        return -1;
    PyObject *key, *value = NULL;
    Py_ssize_t at = 0;
    bool found = false;
    while (dict != NULL && !found && PyDict_Next(dict, &at, &key, &value))
        found = key == name || (PyUnicode_CheckExact(key) && PyUnicode_Compare(key, name) == 0);
    if (text != NULL)
        *text = sm_copy_text(found ? value : NULL);
    if (dict != NULL && !ours)
        PyMutex_Unlock(&dict->ob_mutex);
    return found;
}
#else
int sm_look_up(PyObject *dict, PyObject *name, char **text) {
    PyObject *value = dict != NULL ? PyDict_GetItem(dict, name) : NULL;
    if (text != NULL)
        *text = sm_copy_text(value);
    return value != NULL;
}
#endif

bool sm_text_lists(const char *list, const char *file) {
    while (list != NULL && *list != '\0') {
        const char *end = strchr(list, '\n');
        size_t length = end != NULL ? (size_t)(end - list) : strlen(list);
        if (length > 0 && strncmp(file, list, length) == 0 && (list[length - 1] == '/' || file[length] == '\0'))
            return true;
        list = end != NULL ? end + 1 : NULL;
    }
    return false;
}

void sm_replace_chars(char **target, const char *text) {
    char *copy = sm_copy_chars(text);
    sm_free(*target);
    *target = copy;
}
