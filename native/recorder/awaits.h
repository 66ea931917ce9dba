/* The coroutines that wait, by the address of their frame, and since when: for recorders that tell awaiting from
 * running. What came back is taken out, so the table (base/map.h) is as large as so many have ever waited at a time.
 *
 * A table belongs to a thread's state in a recorder and is touched with the GIL; all zero is an empty one. A coroutine
 * that is dropped while it waits leaves its entry behind, and its frame's address may become another's: so each entry
 * says of what it is. After a fork and at exit it goes with its thread's state; without memory nothing is kept. */
#ifndef SM_RECORDER_AWAITS_H
#define SM_RECORDER_AWAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

typedef sm_map sm_awaits;

/* False: out of memory. */
bool sm_awaits_begin(sm_awaits *awaits, const void *frame, const void *of, uint64_t now);
/* Since when; 0: it is not known to have waited. Once for each beginning. */
uint64_t sm_awaits_end(sm_awaits *awaits, const void *frame, const void *of);
void sm_awaits_free(sm_awaits *awaits);

#endif
