/* Copies of the recorded program's text, such as names of functions and types, in our memory. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

enum { SM_LONGEST_TEXT = 4096 }; /* characters; no path is longer, and names should not hold data */

/* Return a copy of a str as UTF-8, to be freed, or NULL if out of memory. A text beyond SM_LONGEST_TEXT is cut and
 * marked; anything but a str gives "". Lone surrogates pass through. It makes no Python object and sets no exception,
 * because hooks that report every object use it. */
char *sm_copy_text(PyObject *text);

/* Look up a name in a dict, from the middle of any operation of the interpreter: it makes no Python object, sets no
 * exception, and does not wait for a lock for which others would be given up. Return 1 if the dict has the name, 0 if
 * not or if it is NULL, and -1 if another thread keeps it locked all the time. Unless `text` is NULL, it is set to a
 * copy of what is found, as sm_copy_text() makes it, or to NULL with -1. */
int sm_look_up(PyObject *dict, PyObject *name, char **text);

/* Write a character as UTF-8, at most four bytes, and return the end. */
char *sm_put_character(char *at, Py_UCS4 character);

/* Free the target's text, and set it to a copy of another, or to NULL if out of memory or without a text. */
void sm_replace_chars(char **target, const char *text);

/* Return true if the file is in the list, which has a path on each line, or a prefix that ends in a slash. */
bool sm_text_lists(const char *list, const char *file);
