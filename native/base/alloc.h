/* The allocator of everything that is ours: the C library's, never Python's, so that nothing of the profiler shows up
 * in what the program's own memory tools see, and so that no call needs the GIL.
 *
 * A build with SM_TESTING counts the calls and can make the n-th one fail (_core._fail_allocation), which is how tests
 * walk through every out-of-memory path. */
#ifndef SM_BASE_ALLOC_H
#define SM_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef SM_TESTING
/* Defined in alloc.c: NULL when the injected failure strikes. */
void *sm_malloc(size_t size);
void *sm_calloc(size_t count, size_t size);
void *sm_realloc(void *memory, size_t size);
void *sm_aligned(size_t alignment, size_t size);
/* The n-th allocation from now on (1: the next) fails, once; 0: none. `forever`: all from then on fail. Returns how
 * many allocations were made since the last call. */
long sm_alloc_fail(long n, int forever);
#else
static inline void *sm_malloc(size_t size) {
    return malloc(size ? size : 1);
}
static inline void *sm_calloc(size_t count, size_t size) {
    return calloc(count ? count : 1, size ? size : 1);
}
static inline void *sm_realloc(void *memory, size_t size) {
    return realloc(memory, size ? size : 1);
}
/* At a multiple of the alignment, a power of two; not cleared. */
static inline void *sm_aligned(size_t alignment, size_t size) {
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : NULL;
}
#endif

static inline void sm_free(void *memory) {
    free(memory);
}

/* An array of so many with room for one more, in which case it doubles. NULL: out of memory, the old one stands. */
static inline void *sm_grown(void *array, uint32_t count, uint32_t *size, size_t each, uint32_t smallest) {
    if (count < *size)
        return array;
    uint32_t more = *size != 0 ? *size * 2 : smallest;
    void *grown = sm_realloc(array, more * each);
    *size = grown != NULL ? more : *size;
    return grown;
}

/* The same of an array by number, with room for this number; what is new is zero. */
static inline void *sm_grown_to(void *array, uint32_t number, uint32_t *size, size_t each) {
    if (number < *size)
        return array;
    uint32_t more = number + number / 2 + 64;
    char *grown = sm_realloc(array, more * each);
    if (grown != NULL) {
        memset(grown + *size * each, 0, (more - *size) * each);
        *size = more;
    }
    return grown;
}

/* Sees to room for so many in the array that `array` is the address of; what is new is zero. False: out of memory, the
 * old one stands. */
static inline bool sm_room(void *array, size_t *room, size_t count, size_t each) {
    if (count <= *room)
        return true;
    size_t more = *room * 2 > count ? *room * 2 : count + 64;
    char *grown;
    memcpy(&grown, array, sizeof grown);
    grown = sm_realloc(grown, more * each);
    if (grown == NULL)
        return false;
    memset(grown + *room * each, 0, (more - *room) * each);
    memcpy(array, &grown, sizeof grown);
    *room = more;
    return true;
}

#endif
