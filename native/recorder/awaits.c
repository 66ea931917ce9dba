#include "recorder/awaits.h"

#include <stddef.h>

#include "base/alloc.h"

static uint32_t home_of(const sm_awaits *awaits, const void *frame) {
    return (uint32_t)((((uintptr_t)frame >> 4) * 0x9E3779B97F4A7C15u) >> 32) & (awaits->size - 1);
}

static sm_await *place_of(const sm_awaits *awaits, const void *frame) {
    for (uint32_t i = home_of(awaits, frame);; i = (i + 1) & (awaits->size - 1)) {
        sm_await *await = &awaits->table[i];
        if (await->frame == frame || await->frame == NULL)
            return await;
    }
}

static bool make_room(sm_awaits *awaits) {
    if (awaits->count * 2 < awaits->size)
        return true;
    sm_awaits old = *awaits;
    uint32_t size = old.size ? old.size * 2 : 64;
    sm_await *table = sm_calloc(size, sizeof *table);
    if (table == NULL)
        return false;
    *awaits = (sm_awaits){table, old.count, size};
    for (uint32_t i = 0; i < old.size; i++) {
        if (old.table[i].frame != NULL)
            *place_of(awaits, old.table[i].frame) = old.table[i];
    }
    sm_free(old.table);
    return true;
}

bool sm_awaits_begin(sm_awaits *awaits, const void *frame, const void *of, uint64_t now) {
    if (!make_room(awaits))
        return false;
    sm_await *await = place_of(awaits, frame);
    awaits->count += await->frame == NULL;
    *await = (sm_await){frame, of, now};
    return true;
}

/* Those behind the hole move up, unless they would come to stand before their home. */
static void take_out(sm_awaits *awaits, const sm_await *gone) {
    uint32_t mask = awaits->size - 1, hole = (uint32_t)(gone - awaits->table);
    for (uint32_t i = (hole + 1) & mask; awaits->table[i].frame != NULL; i = (i + 1) & mask) {
        if (((i - home_of(awaits, awaits->table[i].frame)) & mask) < ((i - hole) & mask))
            continue;
        awaits->table[hole] = awaits->table[i];
        hole = i;
    }
    awaits->table[hole] = (sm_await){0};
    awaits->count--;
}

uint64_t sm_awaits_end(sm_awaits *awaits, const void *frame, const void *of) {
    if (awaits->count == 0)
        return 0;
    const sm_await *await = place_of(awaits, frame);
    if (await->frame == NULL || await->of != of)
        return 0;
    uint64_t since = await->since;
    take_out(awaits, await);
    return since;
}

void sm_awaits_free(sm_awaits *awaits) {
    sm_free(awaits->table);
    *awaits = (sm_awaits){0};
}
