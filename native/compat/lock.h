/* The locks of the main interpreter, on which waiting threads sleep: the GIL, and without it the locks of objects.
 *
 * Without the GIL, a thread that waits for a PyMutex or an event sleeps on a semaphore of the parking lot. It is in a
 * record on the thread's stack, behind the address of what the thread waits for (Python/parking_lot.c). The address is
 * that of an object's lock, of another lock of the interpreter, of a lock or an event of the program, or, while the
 * world is stopped, of the state of the thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/compat.h"

/* Set the range of addresses of the GIL's structure, without the GIL that of all of the interpreter's state. Return
 * false if this interpreter does not expose it. */
bool sm_lock_place(uintptr_t *from, uintptr_t *below);

#if SM_FREE_THREADED
#define SM_BEFORE_SEMAPHORE sizeof(uintptr_t) /* from the address to the semaphore */
/* Return true if this is the address of an object's lock. Objects are aligned, and a threading.Lock has the lock that a
 * program takes behind the head, whose size is a multiple of that. */
static inline bool sm_lock_of_object(uintptr_t address) {
    return address % 16 == offsetof(PyObject, ob_mutex);
}
/* Return the address on which the thread waits for the start of the stopped world. */
static inline uintptr_t sm_lock_of_world(PyThreadState *tstate) {
    return (uintptr_t)&tstate->state;
}
#else
static inline uintptr_t sm_lock_of_world(PyThreadState *Py_UNUSED(tstate)) {
    return 0;
}
#endif
