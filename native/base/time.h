/* The system's clocks in nanoseconds. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Return the clock's time, or -1 if it cannot be read. */
static inline int64_t sm_time_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return -1;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Return the Unix time. */
static inline int64_t sm_unix_ns(void) {
    return sm_time_ns(CLOCK_REALTIME);
}

/* Return the time of a clock that nobody sets. */
static inline uint64_t sm_monotonic_ns(void) {
    return (uint64_t)sm_time_ns(CLOCK_MONOTONIC);
}

/* A moment on several clocks, which are comparable with other processes and machines. */
typedef struct {
    int64_t unix_ns;       /* ns since 1970 */
    int64_t boot_ns;       /* since the system's boot, with suspended time; 0 if unknown */
    int64_t unix_bound_ns; /* error bound of unix_ns from the kernel; 0 if unknown */
    uint64_t monotonic_ns;
} sm_moment;

sm_moment sm_moment_now(void);

/* Return the Unix time by the time passed since `then`, which changes of the system's time do not affect. */
static inline int64_t sm_moment_since(const sm_moment *then) {
    return then->unix_ns + (int64_t)(sm_monotonic_ns() - then->monotonic_ns);
}

/* Bounds on the error of sm_moment_since(), by looks at the kernel's clock from time to time. 0: unknown. */
typedef struct {
    int64_t last_ns, most_ns; /* at the last look; and at any time until then */
    uint64_t looked_ns;       /* monotonic time of the last look */
} sm_clock_error;

void sm_clock_error_begin(sm_clock_error *bound, const sm_moment *then);
void sm_clock_error_look(sm_clock_error *bound, const sm_moment *then);

/* Return a unique text of the system's boot, or "" if it is unknown or sm_moment_now() was not called yet. */
const char *sm_boot_id(void);
