/* The dictionary of a journal as whoever sums it up needs it: it grows while the program runs. No Python.h.
 *
 * A place is known by its rank in its thread: 0 is the root, then nodes in the order in which they were made. */
#ifndef SM_TRACE_LIVE_DICTIONARY_H
#define SM_TRACE_LIVE_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SM_PLACE_NEAR = 4 };

/* One cache line for all that an event needs: whoever sums up waits for memory more than for anything else. */
typedef struct {
    uint32_t kids_at, kids; /* in sm_places.kid: the children that a byte can name; room for a power of two */
    uint32_t parent;        /* rank; of the root 0 */
    uint32_t function;      /* any number that tells functions apart, below 2^31 */
    /* Of its calls that began and ended in the open slice of sm_places.owner; otherwise all zero: */
    uint32_t calls, next;         /* next: place of the same depth that has some, its rank + 1; 0: none */
    int64_t time;                 /* of all of them */
    int64_t beyond;               /* longer than the longest call of the function so far, by 1; 0: not looked up yet */
    int64_t began;                /* start of that call, if it is one of them */
    uint32_t near[SM_PLACE_NEAR]; /* the first of its kids */
} sm_place;

typedef struct {     /* guard: as of the slicers that it is given to */
    sm_place *place; /* owned; aligned to their size */
    size_t count, room;
    uint32_t *kid; /* owned */
    size_t kids, kids_room;
    struct sm_zoom_slicer *owner; /* borrowed; NULL: nobody has a slice open */
} sm_places;

_Static_assert(sizeof(sm_place) == 64, "a place is a cache line");

/* The next rank, below `parent`, which has a smaller one; the first is the root. False: out of memory. */
bool sm_places_add(sm_places *places, uint32_t parent, uint32_t function);
void sm_place_clear(sm_place *place); /* it has no calls */
void sm_places_free(sm_places *places);

#endif
