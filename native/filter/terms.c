/* Matching of a term's patterns and ranges. */
#include <string.h>

#include "base/varint.h"
#include "filter/program.h"

bool sm_filter_any(const sm_filter_node *node, const char *const *texts, int count) {
    const uint8_t *at = node->data;
    for (uint32_t i = 0; i < node->count; i++) {
        uint32_t size = sm_get_u32(at);
        for (int t = 0; t < count; t++)
            if (texts[t] != NULL && sm_glob((const char *)at + 4, size, texts[t], strlen(texts[t])))
                return true;
        at += 4 + (size_t)size;
    }
    return false;
}

bool sm_filter_inside(const sm_filter_node *node, int64_t value) {
    const uint8_t *at = node->data;
    for (uint32_t i = 0; i < node->count; i++, at += 16) {
        int64_t low = (int64_t)((uint64_t)sm_get_u32(at) | (uint64_t)sm_get_u32(at + 4) << 32);
        int64_t high = (int64_t)((uint64_t)sm_get_u32(at + 8) | (uint64_t)sm_get_u32(at + 12) << 32);
        if (low <= value && value <= high)
            return true;
    }
    return false;
}
