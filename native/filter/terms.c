/* Matches values with the patterns and ranges of a term. */
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
        if ((int64_t)sm_get_u64(at) <= value && value <= (int64_t)sm_get_u64(at + 8))
            return true;
    }
    return false;
}
