/* Lays the trees of several threads on one another: equal paths become one node. No Python.h. */
#ifndef SM_ESTIMATE_COMBINE_H
#define SM_ESTIMATE_COMBINE_H

#include <stddef.h>
#include <stdint.h>

/* For each node the row of its path in the combined tree goes to to[node], or -1 when chosen[thread[node]] is 0; for
 * each row of the combined tree, in the same order as the first node of its path, its parent's row (-1: a root) goes to
 * parent_out, its function to function_out and its depth to depth_out (arrays of `nodes`). Returns the number of rows,
 * or -1 when out of memory. Sound input (see estimate.h). */
int64_t sm_combine(size_t nodes, const int64_t *parent, const int64_t *thread, const int64_t *function,
                   const uint8_t *chosen, int64_t *to, int64_t *parent_out, int64_t *function_out, int64_t *depth_out);

#endif
