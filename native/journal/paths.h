/* The dictionary of a journal as whoever sums it up needs it: it grows while the program runs. No Python.h.
 *
 * A place is known by its rank in its thread: 0 is the root, then nodes in the order in which they were made. */
#ifndef SM_JOURNAL_PATHS_H
#define SM_JOURNAL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t kids_at, kids, kids_room; /* in sm_places.kid: the children that a byte can name */
    uint32_t parent;                   /* rank; of the root 0 */
    uint32_t function;                 /* any number that tells functions apart, below 2^31 */
} sm_place;

typedef struct {            /* of the slice that is open: calls that began and ended in it */
    int64_t time;           /* of all of them */
    int64_t longest, began; /* the longest call of the function, if it is longer than any before; and its start */
    uint32_t calls, next;   /* next: of the same depth, + 1; 0: none */
} sm_tally;

typedef struct {
    sm_place *place; /* owned */
    sm_tally *tally; /* owned; all zero but for the places of the open slice of `owner` */
    size_t count, room;
    uint32_t *kid; /* owned */
    size_t kids, kids_room;
    struct sm_slicer *owner; /* borrowed; NULL: nobody has a slice open */
} sm_places;

/* The next rank, below `parent`, which has a smaller one; the first is the root. False: out of memory. */
bool sm_places_add(sm_places *places, uint32_t parent, uint32_t function);
void sm_places_free(sm_places *places);

#endif
