/* Functions: what an event's code object or C function is known as.
 *
 * A *function* is interned by content (file, qualified name, first line, line table), not by address: code objects die
 * and their addresses are used again, and a program that makes the same code a million times (exec, eval, templates)
 * must not make a million functions. A code object leads to its function by the table of code/code_map.h; a C function
 * by its PyMethodDef, whose address is as good as static.
 *
 * All of this is registration: it happens at the first sight of a code object, with the GIL, never again on the way of
 * an event. Functions live as long as the process. The flush worker reads a function without the GIL: what may still
 * change of it is atomic, or not for that worker. */
#ifndef SM_CODE_FUNCTION_H
#define SM_CODE_FUNCTION_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/code_map.h"
#include "compat/compat.h"

typedef enum { SM_PYTHON, SM_C, SM_SYNTHETIC } sm_function_kind;

enum { /* sm_function.flags; the file stores them as they are */
       SM_FUNCTION_GENERATOR = 1,
       SM_FUNCTION_COROUTINE = 2,
       SM_FUNCTION_ASYNC_GENERATOR = 4,
       SM_FUNCTION_SITES_OFF = 8, /* some of its call sites no longer report C calls */
};

typedef struct sm_function {
    uint32_t id; /* dense, from 0 */
    uint8_t kind;
    bool hidden;    /* with the GIL: one of seismo's own */
    bool left_out;  /* with the GIL: not in the recording: hidden, or where= does not want it */
    uint32_t flags; /* atomic */
    int line;
    uint32_t code_bytes;            /* of its instructions; 0: it has none */
    char *module, *qualname, *file; /* owned; UTF-8 (surrogatepass); "" when unknown. module: atomic */
    uint64_t extra;                 /* what tells it from others of this place: a hash of its line table and the like */
} sm_function;

/* Once per process. -1 with an exception on failure. */
int sm_functions_init(void);

/* Code of these files is hidden: a list as sm_text_lists takes it. NULL or "" hides nothing. Counts for functions that
 * have been seen before, too. */
void sm_functions_hide(const char *files);

/* Functions that are not wanted are left out of the recording, those seen before included. NULL: everything is wanted.
 * What it wants has to depend on nothing but the function. */
void sm_functions_want(bool (*wants)(const sm_function *function));
bool sm_functions_narrowed(void); /* did the recording before this one leave functions out? */

/* Each is NULL when out of memory; none leaves an exception set. globals: the frame's, for the module's name, or NULL.
 * Of a code object the function is remembered while anybody holds the table of code objects. */
sm_function *sm_function_of_code(PyCodeObject *code, PyObject *globals);
sm_function *sm_function_of_c(const void *key, PyObject *callable); /* key: see code/cfunction.h */
sm_function *sm_function_synthetic(const char *name);

/* The PyMethodDef that all types' __new__ share. */
extern const PyMethodDef *sm_shared_new;

uint32_t sm_functions_count(void);
sm_function *sm_function_by_id(uint32_t id);

#endif
