/* The system's clocks in nanoseconds. */
#ifndef SM_BASE_TIME_H
#define SM_BASE_TIME_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* -1: it cannot be read. */
static inline int64_t sm_time_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return -1;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Since 1970. */
static inline int64_t sm_unix_ns(void) {
    return sm_time_ns(CLOCK_REALTIME);
}

/* Since some moment, by a clock that nobody sets. */
static inline uint64_t sm_monotonic_ns(void) {
    return (uint64_t)sm_time_ns(CLOCK_MONOTONIC);
}

/* When something was, by the clocks that others can be held against. */
typedef struct {
    int64_t unix_ns;       /* since 1970 */
    int64_t boot_ns;       /* since the system's start, suspended or not; 0: not known */
    int64_t unix_bound_ns; /* that unix_ns may be off by, as the kernel says; 0: not known */
    uint64_t monotonic_ns;
} sm_moment;

sm_moment sm_moment_now(void);

/* Now, since 1970, by the time that has passed since then: whoever sets the time of the day moves nothing that is in a
 * recording already. */
static inline int64_t sm_moment_since(const sm_moment *then) {
    return then->unix_ns + (int64_t)(sm_monotonic_ns() - then->monotonic_ns);
}

/* Which start of the system this is: a text that no other has, here or elsewhere; "": not known, or sm_moment_now() has
 * not been called yet. */
const char *sm_boot_id(void);

#endif
