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

/* Free the memory and forget its address. */
#define SM_CLEAR(pointer) (sm_free(pointer), (pointer) = NULL)

/* Return a copy of the text, or NULL if out of memory or without a text. */
static inline char *sm_copy_chars(const char *text) {
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = text != NULL ? sm_malloc(size) : NULL;
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* The following functions grow the array whose pointer is at the address `array`. They return false, with the array
 * unchanged, if out of memory. */

static inline bool sm_resize(void *array, size_t bytes) {
    void *grown;
    memcpy(&grown, array, sizeof grown);
    grown = sm_realloc(grown, bytes);
    if (grown != NULL)
        memcpy(array, &grown, sizeof grown);
    return grown != NULL;
}

/* Make room for one more element. */
static inline bool sm_grow(void *array, uint32_t count, uint32_t *size, size_t each, uint32_t smallest) {
    if (count < *size)
        return true;
    uint32_t more = *size != 0 ? *size * 2 : smallest;
    bool grown = sm_resize(array, more * each);
    *size = grown ? more : *size;
    return grown;
}

/* Make room for `count` elements. New ones are zero. */
static inline bool sm_room(void *array, size_t *room, size_t count, size_t each) {
    if (count <= *room)
        return true;
    size_t more = *room * 2 > count ? *room * 2 : count + 64;
    if (!sm_resize(array, more * each))
        return false;
    char *grown;
    memcpy(&grown, array, sizeof grown);
    memset(grown + *room * each, 0, (more - *room) * each);
    *room = more;
    return true;
}

/* Make room for the element `number`. New ones are zero. */
static inline bool sm_grow_to(void *array, uint32_t number, uint32_t *size, size_t each) {
    if (number < *size)
        return true;
    size_t room = *size;
    bool grown = sm_room(array, &room, (size_t)number + 1, each);
    *size = (uint32_t)room;
    return grown;
}
