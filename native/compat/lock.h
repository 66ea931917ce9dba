/* Where the main interpreter's lock lies: what a thread that waits for it waits at. */
#ifndef SM_COMPAT_LOCK_H
#define SM_COMPAT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The addresses of the lock's structure, its condition variables and mutexes among them: from, below. False: this
 * interpreter does not tell. */
bool sm_lock_place(uintptr_t *from, uintptr_t *below);

#endif
