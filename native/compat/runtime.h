/* What of the interpreter's global state its debug offsets lead to (3.13). Read only, with the GIL. */
#ifndef SM_RUNTIME_H
#define SM_RUNTIME_H

#include <stdbool.h>

#include "compat/compat.h"

typedef struct {
    const int *collecting; /* not 0: the main interpreter's cycle collector is at work */
    /* The newest interpreter: the main one while it is the only one. An interpreter is here before it makes its first
     * object, and until after its last is gone. */
    PyInterpreterState *const *newest;
    /* The state of the thread that holds the main interpreter's lock, or held it last. */
    PyThreadState *const *holder;
} sm_runtime_places;

/* False: this interpreter does not tell. */
bool sm_runtime_find(sm_runtime_places *places);

#endif
