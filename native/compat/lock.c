#include "compat/lock.h"

#include "compat/runtime.h"

#if PY_VERSION_HEX >= 0x030D0000

#define BEFORE_HOLDER 16 /* bytes of the structure before the exposed field */
#define AFTER_HOLDER 256 /* bytes from the field on: flags, two condition variables and their mutexes */

bool sm_lock_place(uintptr_t *from, uintptr_t *below) {
    sm_runtime_places places;
    if (!sm_runtime_find(&places))
        return false;
#if SM_FREE_THREADED
    *from = (uintptr_t)PyInterpreterState_Main();
    *below = *from + places.interpreter_size;
#else
    *from = (uintptr_t)places.holder - BEFORE_HOLDER;
    *below = (uintptr_t)places.holder + AFTER_HOLDER;
#endif
    return true;
}

#else

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* public and internal headers differ */
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#undef Py_BUILD_CORE

bool sm_lock_place(uintptr_t *from, uintptr_t *below) {
#if PY_VERSION_HEX >= 0x030C0000
    const struct _gil_runtime_state *lock = &PyInterpreterState_Main()->_gil;
#else
    const struct _gil_runtime_state *lock = &_PyRuntime.ceval.gil;
#endif
    *from = (uintptr_t)lock;
    *below = (uintptr_t)(lock + 1);
    return true;
}

#endif
