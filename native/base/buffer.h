/* A growing run of bytes. It never aborts: what does not fit for want of memory is not appended, and the caller is
 * told. */
#ifndef SM_BASE_BUFFER_H
#define SM_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *bytes; /* owned; NULL while nothing was reserved */
    size_t size;    /* bytes in use */
    size_t room;    /* bytes allocated */
} sm_buffer;

/* Makes room for `more` bytes after the present ones. Returns where they go, or NULL (buffer unchanged) when out of
 * memory; the caller adds to `size` what it used. */
uint8_t *sm_buffer_reserve(sm_buffer *buffer, size_t more);
/* 0, or -1 when out of memory (buffer unchanged). */
int sm_buffer_append(sm_buffer *buffer, const void *bytes, size_t size);
int sm_buffer_append_varint(sm_buffer *buffer, uint64_t value);
/* Frees the bytes; the buffer is empty and usable afterwards. */
void sm_buffer_free(sm_buffer *buffer);

#endif
