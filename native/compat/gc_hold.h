/* Delays the garbage collector while the engine is between two states. Up to 3.11 an allocation may run a
 * collection, whose finalizers may release the GIL and let another thread start a recording. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* Stop collections. Return true if they have to be allowed again afterwards. With the GIL; nests. */
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
