/* Merges the call trees of several threads: equal paths become one node. No Python.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Set to[node] to the row of each node's path in the combined tree, or to -1 if chosen[thread[node]] is 0. Set each
 * row's parent (-1 for a root), function and depth. Return the number of rows, or -1 if out of memory. */
int64_t sm_combine(size_t nodes, const int64_t *parent, const int64_t *thread, const int64_t *function,
                   const uint8_t *chosen, int64_t *to, int64_t *parent_out, int64_t *function_out, int64_t *depth_out);
