/* Orders and binary search. */
#pragma once

/* In a function that compares two records, return the order of a field unless both have the same value. */
#define SM_ORDER_BY(a, b, field)                                                                                       \
    do {                                                                                                               \
        if ((a)->field != (b)->field)                                                                                  \
            return (a)->field < (b)->field ? -1 : 1;                                                                   \
    } while (0)

/* Move `low`, a variable, to the first index below `end` for which `is_before`, a condition on the index `middle`, is
 * false, or to `end`. The condition must be true for all indices before that one and false for all later ones. */
#define SM_BISECT(low, end, is_before)                                                                                 \
    do {                                                                                                               \
        for (__typeof__(low) high = (end); (low) < high;) {                                                            \
            __typeof__(low) middle = (low) + (high - (low)) / 2;                                                       \
            if (is_before)                                                                                             \
                (low) = middle + 1;                                                                                    \
            else                                                                                                       \
                high = middle;                                                                                         \
        }                                                                                                              \
    } while (0)
