/* CRC-32 as in zlib and PNG (polynomial 0xEDB88320, reflected). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tables of a user, computed in some microseconds, which saves a mutable global. */
typedef struct {
    uint32_t table[8][256];
    bool folds; /* the processor has carry-less multiplication */
} sm_crc32;

void sm_crc32_init(sm_crc32 *tables);
/* Continue `crc` (0 at first) with more bytes. */
uint32_t sm_crc32_update(const sm_crc32 *tables, uint32_t crc, const void *bytes, size_t size);
