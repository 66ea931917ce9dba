/* The file of a recording by its path and its descriptor, and when it is worth rewriting. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "file/writer_inside.h"

enum {
    LONGEST_PATH = 4096,
    LEAST_GROWTH = 4096 /* bytes, to spare tiny files frequent renames */
};

void sm_writer_plan_renewal(sm_writer *w, uint64_t size) {
    w->renew_at = size < LEAST_GROWTH ? size + LEAST_GROWTH : 2 * size;
}

void sm_writer_link_of(int fd, char name[SM_NAME_ROOM]) {
    snprintf(name, SM_NAME_ROOM, "/proc/self/fd/%d", fd);
}

/* Return true if the program prints into the same file (/dev/stdout): it would continue in the old one. */
static bool is_standard_stream(const sm_writer *w) {
    struct stat is;
    for (int fd = 0; fd <= 2; fd++)
        if (fstat(fd, &is) == 0 && is.st_dev == w->device && is.st_ino == w->inode)
            return true;
    return false;
}

void sm_writer_find_path(sm_writer *w) {
    char name[SM_NAME_ROOM], path[LONGEST_PATH];
    sm_writer_plan_renewal(w, 0);
    if (w->base != 0 || is_standard_stream(w))
        return;
    sm_writer_link_of(w->fd, name);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0 || length == sizeof path - 1 || path[0] != '/')
        return;
    path[length] = '\0';
    w->path = sm_copy_chars(path);
}

void sm_writer_forget_path(sm_writer *w) {
    if (w->temporary != NULL)
        unlink(w->temporary);
    sm_free(w->temporary);
    sm_free(w->path);
    if (w->owns)
        close(w->fd);
}

int sm_writer_reopen(const sm_writer *w) {
    char name[SM_NAME_ROOM];
    sm_writer_link_of(w->fd, name);
    int fd = w->base >= 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && lseek(fd, w->base, SEEK_SET) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void sm_writer_regain(sm_writer *w) {
    struct stat is;
    int saved_errno = errno;
    if (w->path != NULL && w->fd >= 0 && fcntl(w->fd, F_GETFD) < 0 && errno == EBADF) {
        int fd = open(w->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        bool same = fd >= 0 && fstat(fd, &is) == 0 && is.st_dev == w->device && is.st_ino == w->inode;
        int number = same ? fcntl(fd, F_DUPFD_CLOEXEC, w->fd) : -1; /* the lowest free number from there on */
        if (number == w->fd)
            (void)flock(number, LOCK_EX | LOCK_NB); /* closing the descriptor released our lock */
        else if (number >= 0)
            close(number);
        if (fd >= 0 && fd != number)
            close(fd);
    }
    errno = saved_errno;
}

int sm_writer_grown(const sm_writer *w) {
    return w->path != NULL && (w->torn || w->written >= w->renew_at) && w->lost == 0;
}
