/* Patterns over names. A "[" that is not closed is literal. A character is a code point, surrogates included.
 *
 * A star matches as little as possible; on a mismatch, only the last star is extended by one character. Earlier
 * stars need no backtracking, since the text before the last one matched at the earliest position. So the time is at
 * most the product of the two lengths. */
#include <string.h>

#include "filter/filter.h"

/* Return the code point at *at and advance. Invalid UTF-8 counts as single bytes. */
static uint32_t next_point(const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    uint32_t first = *p++;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    uint32_t point = more ? first & (0x3Fu >> more) : first;
    if (end - p < more)
        more = 0, point = first;
    for (int i = 0; i < more; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            *at = p;
            return first;
        }
        point = point << 6 | (p[i] & 0x3F);
    }
    *at = p + more;
    return point;
}

/* Return the "]" of the set whose content begins at p, or NULL. A "]" at p is part of the set. */
static const uint8_t *set_end(const uint8_t *p, const uint8_t *end) {
    return end - p > 1 ? memchr(p + 1, ']', (size_t)(end - p - 1)) : NULL;
}

static bool in_set(const uint8_t *p, const uint8_t *end, uint32_t point) {
    bool inside = false;
    while (p < end) {
        uint32_t low = next_point(&p, end), high = low;
        if (end - p > 1 && *p == '-') {
            p++;
            high = next_point(&p, end);
        }
        inside |= low <= point && point <= high;
    }
    return inside;
}

/* Return true if the pattern's part at *at matches this code point. Sets *at to the part's end. */
static bool one(const uint8_t **at, const uint8_t *end, uint32_t point) {
    const uint8_t *p = *at;
    if (*p == '?') {
        *at = p + 1;
        return true;
    }
    if (*p == '[') {
        const uint8_t *begin = p + 1;
        bool negated = begin < end && *begin == '!';
        begin += negated;
        const uint8_t *close = set_end(begin, end);
        if (close != NULL) {
            *at = close + 1;
            return in_set(begin, close, point) != negated;
        }
    }
    return next_point(at, end) == point;
}

bool sm_glob(const char *pattern, size_t pattern_size, const char *text, size_t text_size) {
    const uint8_t *p = (const uint8_t *)pattern, *p_end = p + pattern_size;
    const uint8_t *t = (const uint8_t *)text, *t_end = t + text_size;
    const uint8_t *star = NULL, *begun = NULL; /* after the last star; beginning of the text after it */
    while (t < t_end) {
        if (p < p_end && *p == '*') {
            star = ++p;
            begun = t;
            continue;
        }
        const uint8_t *after_p = p, *after_t = t;
        uint32_t point = next_point(&after_t, t_end);
        if (p < p_end && one(&after_p, p_end, point)) {
            p = after_p;
            t = after_t;
        } else if (star != NULL) {
            (void)next_point(&begun, t_end);
            p = star;
            t = begun;
        } else {
            return false;
        }
    }
    while (p < p_end && *p == '*')
        p++;
    return p == p_end;
}
