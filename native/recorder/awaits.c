#include "recorder/awaits.h"

typedef struct {
    uint64_t frame;
    const void *of; /* the thing that waits, as the recorder names it */
    uint64_t since; /* ticks */
} waiting;

bool sm_awaits_begin(sm_awaits *awaits, const void *frame, const void *of, uint64_t now) {
    waiting *made = sm_map_make(awaits, (uintptr_t)frame, sizeof *made, 64);
    if (made == NULL)
        return false;
    made->of = of;
    made->since = now;
    return true;
}

uint64_t sm_awaits_end(sm_awaits *awaits, const void *frame, const void *of) {
    waiting *found = sm_map_find(awaits, (uintptr_t)frame, sizeof *found);
    if (found == NULL || found->of != of)
        return 0;
    uint64_t since = found->since;
    sm_map_remove(awaits, found, sizeof *found);
    return since;
}
