/* The C library's allocator for our memory, hidden from the program's memory tools and without the GIL. With
 * SM_TESTING, the n-th call can fail (_core._fail_allocation). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef SM_TESTING
/* Return true for an injected failure. */
bool sm_alloc_strikes(void);
/* Make the n-th allocation from now on fail (1 is the next, 0 none), and if `forever` all later ones. Return how
 * many were made since the last call. */
long sm_alloc_fail(long n, int forever);
#else
static inline bool sm_alloc_strikes(void) {
    return false;
}
#endif

static inline void *sm_malloc(size_t size) {
    return sm_alloc_strikes() ? NULL : malloc(size ? size : 1);
}

static inline void *sm_calloc(size_t count, size_t size) {
    return sm_alloc_strikes() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

static inline void *sm_realloc(void *memory, size_t size) {
    return sm_alloc_strikes() ? NULL : realloc(memory, size ? size : 1);
}

/* Allocate uninitialized memory at a multiple of the alignment, a power of two. */
static inline void *sm_aligned(size_t alignment, size_t size) {
    void *memory = NULL;
    return !sm_alloc_strikes() && posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : NULL;
}

static inline void sm_free(void *memory) {
    free(memory);
}

/* Return a copy of the text, or NULL if out of memory or without a text. */
static inline char *sm_copy_chars(const char *text) {
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = text != NULL ? sm_malloc(size) : NULL;
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* Return the array with room for one more element, or NULL if out of memory with the array unchanged. */
static inline void *sm_grown(void *array, uint32_t count, uint32_t *size, size_t each, uint32_t smallest) {
    if (count < *size)
        return array;
    uint32_t more = *size != 0 ? *size * 2 : smallest;
    void *grown = sm_realloc(array, more * each);
    *size = grown != NULL ? more : *size;
    return grown;
}

/* Return the array with room for the element `number`, or NULL if out of memory with the array unchanged. New elements
 * are zero. */
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

/* Grow the array at address `array` to hold `count` elements. New ones are zero. Return false if out of memory. */
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
