/* One pass in row order: a node's parent is mapped before it, so (parent's row, function) identifies its path. */
#include "estimate/combine.h"

#include "base/alloc.h"

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t h = (a + 1) * 0x9E3779B97F4A7C15u ^ (b + 1) * 0xC2B2AE3D27D4EB4Fu;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    return h ^ h >> 32;
}

int64_t sm_combine(size_t nodes, const int64_t *parent, const int64_t *thread, const int64_t *function,
                   const uint8_t *chosen, int64_t *to, int64_t *parent_out, int64_t *function_out, int64_t *depth_out) {
    size_t places = 16;
    while (places < nodes * 2)
        places *= 2;
    uint32_t *row_at = sm_calloc(places, sizeof *row_at); /* row + 1 */
    if (row_at == NULL || nodes >= UINT32_MAX) {
        sm_free(row_at);
        return -1;
    }
    int64_t rows = 0;
    for (size_t n = 0; n < nodes; n++) {
        if (!chosen[thread[n]]) {
            to[n] = -1;
            continue;
        }
        int64_t above = parent[n] < 0 ? -1 : to[parent[n]];
        size_t place = mix((uint64_t)above, (uint64_t)function[n]) & (places - 1);
        while (row_at[place] &&
               (parent_out[row_at[place] - 1] != above || function_out[row_at[place] - 1] != function[n])) {
            place = (place + 1) & (places - 1);
        }
        if (row_at[place] == 0) {
            parent_out[rows] = above;
            function_out[rows] = function[n];
            depth_out[rows] = above < 0 ? 0 : depth_out[above] + 1;
            row_at[place] = (uint32_t)++rows;
        }
        to[n] = row_at[place] - 1;
    }
    sm_free(row_at);
    return rows;
}
