#include "code/text.h"

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
