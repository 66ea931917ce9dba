/* Variable-length integers: seven bits a byte, least significant first, the top bit set on all bytes but the last.
 * Signed values use zigzag (0, -1, 1, -2 ... become 0, 1, 2, 3 ...). The decoder never reads at or past `end`. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SM_VARINT_MAX 10 /* bytes of the longest number */

static inline size_t sm_varint_size(uint64_t value) {
    return (size_t)(64 - __builtin_clzll(value | 1) + 6) / 7;
}

/* Write `value` to `to`, which has room for SM_VARINT_MAX bytes. Return one past the last byte. */
static inline uint8_t *sm_varint_put(uint8_t *to, uint64_t value) {
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

static inline uint8_t *sm_varints_put(uint8_t *to, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        to = sm_varint_put(to, values[i]);
    return to;
}

/* Write several values one after the other. */
#define SM_VARINTS_PUT(to, ...)                                                                                        \
    sm_varints_put(to, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Read one value into *value. Return one past its last byte, or NULL if it is truncated or too large. */
static inline const uint8_t *sm_varint_get(const uint8_t *from, const uint8_t *end, uint64_t *value) {
    if (from < end && *from < 0x80) { /* the case of nearly all numbers */
        *value = *from;
        return from + 1;
    }
    uint64_t sum = 0;
    for (unsigned shift = 0; from < end && shift < 64; shift += 7) {
        uint64_t byte = *from++;
        if (shift == 63 && byte > 1)
            return NULL;
        sum |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return from;
        }
    }
    return NULL;
}

/* Read one value of at most `most`. Return NULL also for a larger one, and if `from` is NULL, so that calls chain. */
static inline const uint8_t *sm_varint_next(const uint8_t *from, const uint8_t *end, uint64_t most, uint64_t *value) {
    *value = 0;
    from = from != NULL ? sm_varint_get(from, end, value) : NULL;
    return from != NULL && *value <= most ? from : NULL;
}

static inline uint64_t sm_zigzag(int64_t value) {
    return ((uint64_t)value << 1) ^ (uint64_t)(value < 0 ? -1 : 0);
}

static inline int64_t sm_unzigzag(uint64_t value) {
    return (int64_t)((value >> 1) ^ (~(value & 1) + 1));
}

/* Fixed-size little-endian numbers, on any host. */
static inline void sm_put_u16(uint8_t *to, uint16_t value) {
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static inline void sm_put_u32(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline void sm_put_u64(uint8_t *to, uint64_t value) {
    sm_put_u32(to, (uint32_t)value);
    sm_put_u32(to + 4, (uint32_t)(value >> 32));
}

static inline void sm_put_f64(uint8_t *to, double number) {
    uint64_t value;
    memcpy(&value, &number, sizeof value);
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint16_t sm_get_u16(const uint8_t *from) {
    return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t sm_get_u32(const uint8_t *from) {
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline uint64_t sm_get_u64(const uint8_t *from) {
    return (uint64_t)sm_get_u32(from) | (uint64_t)sm_get_u32(from + 4) << 32;
}

static inline double sm_get_f64(const uint8_t *from) {
    uint64_t value = 0;
    double number;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << (8 * i);
    memcpy(&number, &value, sizeof number);
    return number;
}
