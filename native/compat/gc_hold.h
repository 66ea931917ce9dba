/* Holding back Python's garbage collector while the engine's structures are between two states.
 *
 * Up to 3.11 taking an object may collect then and there: finalizers run, one that closes a file lets go of the GIL,
 * and another thread may end the recording and begin the next before the object is there. From 3.12 on a collection
 * waits for the interpreter's loop. Nothing of the program runs in between, so nobody sees that it was held. */
#ifndef SM_COMPAT_GC_HOLD_H
#define SM_COMPAT_GC_HOLD_H

#include <Python.h>
#include <stdbool.h>

/* Is there something to release? With the GIL; nests. */
static inline bool sm_collection_hold(void) {
#if PY_VERSION_HEX < 0x030C0000
    return PyGC_Disable();
#else
    return false;
#endif
}

static inline void sm_collection_release(bool held) {
#if PY_VERSION_HEX < 0x030C0000
    if (held)
        PyGC_Enable();
#else
    (void)held;
#endif
}

#endif
