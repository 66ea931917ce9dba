/* A growing array of bytes. If out of memory, nothing is appended and an error returned. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *bytes; /* owned; NULL while nothing was reserved */
    size_t size;    /* bytes in use */
    size_t room;    /* bytes allocated */
} sm_buffer;

/* Return the address for `more` bytes to append, or NULL with the buffer unchanged if out of memory. */
uint8_t *sm_buffer_reserve(sm_buffer *buffer, size_t more);
/* Append bytes, or a varint. Return 0, or -1 with the buffer unchanged if out of memory. */
int sm_buffer_append(sm_buffer *buffer, const void *bytes, size_t size);
int sm_buffer_append_varint(sm_buffer *buffer, uint64_t value);
/* Free the bytes. The buffer is empty and usable afterwards. */
void sm_buffer_free(sm_buffer *buffer);
