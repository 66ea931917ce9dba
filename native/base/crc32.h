/* CRC-32 as zlib and PNG have it (polynomial 0xEDB88320, reflected). */
#ifndef SM_BASE_CRC32_H
#define SM_BASE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables live with their user and are computed in some microseconds, so that there is no mutable global. */
typedef struct {
    uint32_t table[8][256];
    bool folds; /* the processor has what crc32.c tells of */
} sm_crc32;

void sm_crc32_init(sm_crc32 *tables);
/* Continues `crc` (0 at first) with more bytes. */
uint32_t sm_crc32_update(const sm_crc32 *tables, uint32_t crc, const void *bytes, size_t size);

#endif
