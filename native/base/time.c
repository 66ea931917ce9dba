/* What the system's clocks are to those of other processes and machines. */
#include "base/time.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/timex.h>
#endif

/* The kernel's bound grows with the time since somebody last set the clock right. Without such a somebody it says that
 * the clock is not synchronised, and its bound means nothing. */
static int64_t unix_bound_ns(void) {
#ifdef __linux__
    struct timex told;
    memset(&told, 0, sizeof told); /* no mode: nothing is set */
    int state = adjtimex(&told);
    if (state >= 0 && state != TIME_ERROR && !(told.status & STA_UNSYNC) && told.maxerror > 0)
        return (int64_t)told.maxerror * 1000;
#endif
    return 0;
}

sm_moment sm_moment_now(void) {
    sm_moment now = {.unix_bound_ns = unix_bound_ns()};
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

void sm_boot_id(char *to, size_t room) {
    to[0] = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t length = read(fd, to, room - 1);
    close(fd);
    to[length > 0 ? length : 0] = 0;
    to[strcspn(to, "\n")] = 0;
}
