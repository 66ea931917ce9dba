/* Relations of the system's clocks to those of other processes and machines. */
#include "base/time.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/timex.h>
#endif

/* The kernel's bound is invalid without synchronisation. A seccomp filter may kill the process for this call, which
 * also sets clocks (systemd's SystemCallFilter=~@clock). */
static int64_t unix_bound_ns(void) {
#ifdef __linux__
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
        return 0;
    struct timex state_of_clock;
    memset(&state_of_clock, 0, sizeof state_of_clock); /* Without a mode, nothing is set. */
    int state = adjtimex(&state_of_clock);
    if (state >= 0 && state != TIME_ERROR && !(state_of_clock.status & STA_UNSYNC) && state_of_clock.maxerror > 0)
        return (int64_t)state_of_clock.maxerror * 1000;
#endif
    return 0;
}

/* Read once, at the first recording, because a program may forbid itself to open files later. */
static char boot_id[64];
static pthread_once_t boot_id_read = PTHREAD_ONCE_INIT;

static void read_boot_id(void) {
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t length = read(fd, boot_id, sizeof boot_id - 1);
    close(fd);
    boot_id[length > 0 ? length : 0] = 0;
    boot_id[strcspn(boot_id, "\n")] = 0;
}

sm_moment sm_moment_now(void) {
    (void)pthread_once(&boot_id_read, read_boot_id);
    sm_moment now = {.unix_bound_ns = unix_bound_ns(), .monotonic_ns = sm_monotonic_ns()};
#ifdef CLOCK_BOOTTIME
    int64_t before = sm_time_ns(CLOCK_BOOTTIME);
    now.unix_ns = sm_unix_ns();
    int64_t after = sm_time_ns(CLOCK_BOOTTIME);
    if (before > 0 && after >= before)
        now.boot_ns = before + (after - before) / 2;
#else
    now.unix_ns = sm_unix_ns();
#endif
    return now;
}

void sm_clock_error_begin(sm_clock_error *bound, const sm_moment *then) {
    *bound = (sm_clock_error){then->unix_bound_ns, then->unix_bound_ns, then->monotonic_ns};
}

void sm_clock_error_look(sm_clock_error *bound, const sm_moment *then) {
    enum { DRIFT = 2000 }; /* ns in which a clock may drift by 1 ns: 500 ppm, by which the kernel lets its bound grow */
    int64_t now = unix_bound_ns(), off = sm_unix_ns() - sm_moment_since(then), before = bound->last_ns;
    uint64_t looked = bound->looked_ns;
    bound->looked_ns = sm_monotonic_ns();
    bound->last_ns = now > 0 && before > 0 ? now + (off < 0 ? -off : off) : 0;
    before += (int64_t)(bound->looked_ns - looked) / DRIFT;
    int64_t most = before > bound->last_ns ? before : bound->last_ns;
    if (bound->last_ns == 0 || bound->most_ns < most)
        bound->most_ns = bound->last_ns > 0 ? most : 0;
}

const char *sm_boot_id(void) {
    return boot_id;
}
