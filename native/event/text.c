#include "event/text.h"

#include <string.h>

#include "base/alloc.h"
#include "compat/compat.h"

uint64_t sm_hash_bytes(uint64_t hash, const char *data, size_t size) { /* FNV-1a, with the length mixed in */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3u;
    return (hash ^ size) * 0x9E3779B97F4A7C15u;
}

static char *put_character(char *at, Py_UCS4 character) {
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

char *sm_copy_text(PyObject *text) {
    if (text == NULL || !PyUnicode_Check(text) || !sm_str_is_ready(text))
        return sm_copy_chars("");
    size_t length = (size_t)PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    size_t most = PyUnicode_IS_ASCII(text)       ? 1
                  : kind == PyUnicode_1BYTE_KIND ? 2
                  : kind == PyUnicode_2BYTE_KIND ? 3
                                                 : 4;
    char *copy = sm_malloc(length * most + 1), *at = copy;
    if (copy == NULL)
        return NULL;
    const void *data = PyUnicode_DATA(text);
    if (PyUnicode_IS_ASCII(text)) {
        memcpy(copy, data, length);
        at += length;
    } else {
        for (size_t i = 0; i < length; i++)
            at = put_character(at, PyUnicode_READ(kind, data, (Py_ssize_t)i));
    }
    *at = '\0';
    return copy;
}

char *sm_copy_chars(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = sm_malloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

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
