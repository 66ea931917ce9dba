/* The suspended coroutines, by the address of their frame, with the time: for recorders that distinguish awaiting from
 * running. The table is as large as the most that ever waited at once; all zero is an empty one, and sm_map_free()
 * frees it. Guard: the GIL.
 *
 * A coroutine that is dropped while it waits leaves an entry, and its frame's address may be reused, so each entry has
 * its owner. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

typedef sm_map sm_awaits;

/* Note a suspension. Return false if out of memory. */
bool sm_awaits_begin(sm_awaits *awaits, const void *frame, const void *of, uint64_t now);
/* Remove the entry. Return its time, or 0 if there is none. */
uint64_t sm_awaits_end(sm_awaits *awaits, const void *frame, const void *of);
