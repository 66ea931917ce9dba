/* Functions: the identities of code objects and C functions.
 *
 * A *function* is interned by content, since addresses of code objects are reused, and since programs make the same
 * code many times (exec, eval, templates). A C function is found by its PyMethodDef, whose address is as good as
 * static. Functions are made with the GIL and live as long as the process. What the flush worker reads and may
 * change is atomic. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/code_map.h"
#include "compat/compat.h"

typedef enum { SM_PYTHON, SM_C, SM_SYNTHETIC } sm_function_kind;

enum { /* bits of sm_function.flags, as in the file */
       SM_FUNCTION_GENERATOR = 1,
       SM_FUNCTION_COROUTINE = 2,
       SM_FUNCTION_ASYNC_GENERATOR = 4,
       SM_FUNCTION_SITES_OFF = 8, /* some of its call sites no longer report C calls */
};

typedef struct sm_function {
    uint32_t id; /* dense, from 0 */
    uint8_t kind;
    bool hidden;    /* part of seismo; guarded by the GIL */
    bool left_out;  /* hidden, or unwanted by where=; guarded by the GIL */
    uint32_t flags; /* atomic */
    int line;
    uint32_t code_bytes;            /* size of its instructions; 0 if none */
    char *module, *qualname, *file; /* owned; UTF-8 (surrogatepass); "" if unknown. module: atomic */
    uint64_t extra;                 /* distinguishes functions of one line: a hash of the line table and more */
} sm_function;

/* Initialize, once per process. Return -1 with an exception set. */
int sm_functions_init(void);

/* Hide the code of these files, a list for sm_text_lists(), also of known functions. NULL or "" hides nothing. */
void sm_functions_hide(const char *files);

/* Leave out functions that are not wanted, known ones too; NULL wants all. The result depends on the function only. */
void sm_functions_want(bool (*wants)(const sm_function *function));
bool sm_functions_narrowed(void); /* true if the previous recording left functions out */
/* The file of the functions that calibration runs (engine/calibrate.c), and its C function: always wanted, since what
 * they cost stands for what wanted functions cost. */
#define SM_CALIBRATION "<seismo calibration>"
#define SM_CALIBRATION_IN_C "seismo_nothing"

/* Return the function, or NULL if out of memory, without an exception. globals: the frame's, or NULL. */
sm_function *sm_function_of_code(PyCodeObject *code, PyObject *globals);
#if SM_FREE_THREADED
/* The same without an entry in the table of code objects, which would keep the code alive; without the core's lock. For
 * events in which the thread must stay attached. NULL also if another thread keeps the globals locked. */
sm_function *sm_function_in_event(PyCodeObject *code, PyObject *globals);
#endif
sm_function *sm_function_of_c(const void *key, PyObject *callable); /* key: see code/cfunction.h */
sm_function *sm_function_synthetic(const char *name);

uint32_t sm_functions_count(void);
sm_function *sm_function_by_id(uint32_t id);
