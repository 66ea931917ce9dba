/* Functions: what an event's code object or C function is known as.
 *
 * A *function* is interned by content (file, qualified name, first line, line table), not by address: code objects die
 * and their addresses are used again, and a program that makes the same code a million times (exec, eval, templates)
 * must not make a million functions. A code object leads to its function in one load through a slot of our own
 * (co_extra); a C function through its PyMethodDef, whose address is as good as static.
 *
 * All of this is registration: it happens at the first sight of a code object, with the GIL, never again on the way of
 * an event. Functions live as long as the process. */
#ifndef SM_FUNCTION_H
#define SM_FUNCTION_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "compat/compat.h"

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)

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
    bool hidden;   /* one of seismo's own */
    bool left_out; /* of the recording: hidden, or where= does not want it */
    uint32_t flags;
    uint32_t codes; /* code objects seen with this content */
    int line;
    char *module, *qualname, *file; /* owned; UTF-8 (surrogatepass); "" when unknown */
    uint64_t hash;
    struct sm_function *next; /* in its bucket */
} sm_function;

/* What hangs on a code object that has a function. */
typedef struct {
    sm_function *function;
    PyCodeObject *code; /* borrowed: the entry goes with it */
    void *coverage;     /* the coverage recorder's; NULL: nothing */
    uint32_t session;   /* the recording in which the source of lines has met it; 0: none */
} sm_code_entry;

extern Py_ssize_t sm_code_slot; /* of co_extra; -1: none yet */

static inline sm_code_entry *sm_code_entry_of(PyCodeObject *code) {
    return sm_code_peek(code, sm_code_slot);
}

/* Once per process. -1 with an exception on failure. code_died(function, code) is called when a code object that has a
 * function goes away: with the GIL, maybe with an exception pending, maybe inside the garbage collector. */
int sm_functions_init(void (*code_died)(sm_function *function, const void *code));

/* Called like code_died, for entries with something of coverage's. */
void sm_functions_tell_coverage(void (*code_died)(sm_code_entry *entry));

/* Code of these files is hidden: a list as sm_text_lists takes it. NULL or "" hides nothing. Counts for functions that
 * have been seen before, too. */
void sm_functions_hide(const char *files);

/* Functions that the filter does not want are left out of the recording, those seen before included. NULL: none is.
 * What it wants has to depend on nothing but the function. */
struct sm_filter;
void sm_functions_where(struct sm_filter *filter);
bool sm_functions_narrowed(void); /* did the recording before this one leave functions out? */

/* Each is NULL when out of memory; none leaves an exception set. globals: the frame's, for the module's name, or NULL.
 */
sm_function *sm_function_of_code(PyCodeObject *code, PyObject *globals);
/* What is known of what an event calls its code: NULL if it has not been asked for before, or is no code object. */
static inline sm_code_entry *sm_code_entry_of_any(const void *code) {
    PyObject *object = (PyObject *)(uintptr_t)code;
    return PyCode_Check(object) ? sm_code_entry_of((PyCodeObject *)object) : NULL;
}
sm_function *sm_function_of_c(const void *key, PyObject *callable); /* key: see event/cfunction.h */
sm_function *sm_function_synthetic(const char *name);

/* The PyMethodDef that all types' __new__ share. */
extern const PyMethodDef *sm_shared_new;

uint32_t sm_functions_count(void);
sm_function *sm_function_by_id(uint32_t id);

#endif
