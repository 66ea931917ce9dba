#include "base/write_without_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

ssize_t sm_write(int fd, const void *from, size_t size, off_t at) {
    sigset_t limit, before, waiting;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigemptyset(&waiting);
    sigpending(&waiting);
    bool theirs = sigismember(&waiting, SIGXFSZ) == 1;
    bool blocked = pthread_sigmask(SIG_BLOCK, &limit, &before) == 0;
    ssize_t n = at < 0 ? write(fd, from, size) : pwrite(fd, from, size, at);
    int error = errno;
    if (n < 0 && error == EFBIG && blocked && !theirs) { /* the system has sent the signal to this thread */
        struct timespec now = {0};
        (void)sigtimedwait(&limit, NULL, &now);
    }
    if (blocked)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}
