/* Hashes of texts and other bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SM_HASH_START 0xcbf29ce484222325u

/* Continue a hash, SM_HASH_START at first, with more bytes: FNV-1a, with the length mixed in. */
static inline uint64_t sm_hash_bytes(uint64_t hash, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return (hash ^ size) * 0x9E3779B97F4A7C15u;
}

static inline uint64_t sm_hash_text(uint64_t hash, const char *text) {
    return sm_hash_bytes(hash, text, strlen(text));
}
