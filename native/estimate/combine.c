/* One pass in row order: a node's parent is mapped before it, so (parent's row, function) identifies its path. */
#include "estimate/combine.h"

#include "base/map.h"

typedef struct {
    uint64_t key; /* row of the parent + 1, function + 1; 32 bits each */
    int64_t row;
} path;

int64_t sm_combine(size_t nodes, const int64_t *parent, const int64_t *thread, const int64_t *function,
                   const uint8_t *chosen, int64_t *to, int64_t *parent_out, int64_t *function_out, int64_t *depth_out) {
    sm_map paths = {0};
    int64_t rows = nodes < INT32_MAX ? 0 : -1;
    for (size_t n = 0; n < nodes && rows >= 0; n++) {
        to[n] = -1;
        if (!chosen[thread[n]])
            continue;
        int64_t above = parent[n] < 0 ? -1 : to[parent[n]];
        path *known =
            sm_map_make(&paths, (uint64_t)(above + 1) << 32 | (uint64_t)(function[n] + 1), sizeof *known, 1024);
        if (known == NULL) {
            rows = -1;
            break;
        }
        if (paths.count > rows) { /* a new path */
            parent_out[rows] = above;
            function_out[rows] = function[n];
            depth_out[rows] = above < 0 ? 0 : depth_out[above] + 1;
            known->row = rows++;
        }
        to[n] = known->row;
    }
    sm_map_free(&paths);
    return rows;
}
