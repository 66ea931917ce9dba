/* Text of the recorded program, copied into memory of ours: what functions and types are known by. */
#ifndef SM_CODE_TEXT_H
#define SM_CODE_TEXT_H

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SM_LONGEST_TEXT = 4096 }; /* characters: no path is longer, and a name is no place to keep data in */

/* A str as UTF-8, to be freed; of a longer one than SM_LONGEST_TEXT the beginning, with a mark that says so; "" for
 * what is no str or NULL. NULL: no memory. Lone surrogates pass through. Makes no Python object and sets no exception:
 * it is called inside hooks that report every object. */
char *sm_copy_text(PyObject *text);

/* As UTF-8, four bytes at most; the place behind it. */
char *sm_put_character(char *at, Py_UCS4 character);

char *sm_copy_chars(const char *text);                  /* NULL: no memory, or there is no text */
void sm_replace_chars(char **target, const char *text); /* frees what it was; NULL: no memory */

/* Is the file on the list? A line of that is a path: what ends with a slash is the beginning of paths. */
bool sm_text_lists(const char *list, const char *file);

#endif
