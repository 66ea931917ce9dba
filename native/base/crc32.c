/* Slicing by eight: table[k][b] is the remainder of byte b followed by k zero bytes, so that eight bytes are folded in
 * with eight independent loads instead of a chain of eight. About 2 GB/s, where the byte-wise loop has 0.4: the check
 * must not be what a reader of a large recording waits for. */
#include "base/crc32.h"

#include "base/varint.h"

void sm_crc32_init(sm_crc32 *tables) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t rest = b;
        for (int bit = 0; bit < 8; bit++) {
            rest = (rest >> 1) ^ (rest & 1 ? 0xEDB88320u : 0);
        }
        tables->table[0][b] = rest;
    }
    for (int k = 1; k < 8; k++) {
        for (int b = 0; b < 256; b++) {
            uint32_t rest = tables->table[k - 1][b];
            tables->table[k][b] = (rest >> 8) ^ tables->table[0][rest & 0xff];
        }
    }
}

uint32_t sm_crc32_update(const sm_crc32 *tables, uint32_t crc, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    const uint32_t (*t)[256] = tables->table;
    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint32_t low = crc ^ sm_get_u32(at), high = sm_get_u32(at + 4);
        crc = t[7][low & 0xff] ^ t[6][low >> 8 & 0xff] ^ t[5][low >> 16 & 0xff] ^ t[4][low >> 24] ^ t[3][high & 0xff] ^
              t[2][high >> 8 & 0xff] ^ t[1][high >> 16 & 0xff] ^ t[0][high >> 24];
    }
    for (; size; size--) {
        crc = (crc >> 8) ^ t[0][(crc ^ *at++) & 0xff];
    }
    return ~crc;
}
