#include "base/buffer.h"

#include "base/alloc.h"
#include "base/varint.h"

uint8_t *sm_buffer_reserve(sm_buffer *buffer, size_t more) {
    if (more > SIZE_MAX / 2 - buffer->size)
        return NULL;
    size_t wanted = buffer->size + more;
    if (wanted > buffer->room || buffer->bytes == NULL) {
        size_t room = buffer->room + buffer->room / 2;
        room = room < wanted ? wanted : room;
        room = room < 256 ? 256 : room;
        uint8_t *bytes = sm_realloc(buffer->bytes, room);
        if (bytes == NULL)
            return NULL;
        buffer->bytes = bytes;
        buffer->room = room;
    }
    return buffer->bytes + buffer->size;
}

int sm_buffer_append(sm_buffer *buffer, const void *bytes, size_t size) {
    uint8_t *to = sm_buffer_reserve(buffer, size);
    if (to == NULL)
        return -1;
    if (size)
        memcpy(to, bytes, size);
    buffer->size += size;
    return 0;
}

int sm_buffer_append_varint(sm_buffer *buffer, uint64_t value) {
    uint8_t *to = sm_buffer_reserve(buffer, SM_VARINT_MAX);
    if (to == NULL)
        return -1;
    buffer->size = (size_t)(sm_varint_put(to, value) - buffer->bytes);
    return 0;
}

void sm_buffer_free(sm_buffer *buffer) {
    sm_free(buffer->bytes);
    *buffer = (sm_buffer){0};
}
