/* The address of the main interpreter's GIL, on which waiting threads sleep. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Set the range of addresses of the GIL's structure. Return false if this interpreter does not expose it. */
bool sm_lock_place(uintptr_t *from, uintptr_t *below);
