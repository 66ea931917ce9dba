/* The dictionary of a journal that is summed up while the program runs. No Python.h.
 *
 * A place is known by its rank in its thread: 0 is the root, followed by nodes in the order of creation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SM_PLACE_NEAR = 4 };

/* A place, in one cache line, because summing up waits mostly for memory. */
typedef struct {
    uint32_t kids_at, kids; /* range in sm_places.kid of children that a byte can name; room for a power of two */
    uint32_t parent;        /* rank of the parent, or 0 for the root */
    uint32_t function;      /* number of its function, below 2^31 */
    /* Calls that began and ended in the open slice of sm_places.owner, or zeros. */
    uint32_t calls, next; /* next: rank + 1 of the next place of this depth that has some, or 0 */
    int64_t time;
    int64_t beyond; /* duration from which a call is the longest of its function; 0 before the first lookup */
    int64_t began;  /* start of the longest call, if it is in the slice */
    uint32_t near[SM_PLACE_NEAR];
} sm_place;

typedef struct {     /* guard: the lock of the slicers that use it */
    sm_place *place; /* owned; aligned to their size */
    size_t count, room;
    uint32_t *kid; /* owned */
    size_t kids, kids_room;
    struct sm_zoom_slicer *owner; /* borrowed; the slicer with an open slice, or NULL */
} sm_places;

_Static_assert(sizeof(sm_place) == 64, "a place is a cache line");

/* Add the next rank, a child of `parent`; the first call adds the root. Return false if out of memory. */
bool sm_places_add(sm_places *places, uint32_t parent, uint32_t function);
void sm_place_clear(sm_place *place);
void sm_places_free(sm_places *places);
