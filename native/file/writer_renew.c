/* Rewriting a recording's file when most of it is outdated.
 *
 * The file is append-only, and a running recorder writes changed rows again. So when the file is twice as large as when
 * it last had every row only once, the recording is written to a new file, unless it grew by new rows only. This at
 * most doubles the work. A file with a journal, which is never outdated and expensive to copy, is rewritten once, at
 * its end.
 *
 * The new file is renamed over the old one when it is complete, so a killed program leaves one or the other. If the
 * system allows, it has no name until then. The descriptor keeps its number, and the new file the permissions and
 * the lock, by which a living recorder is recognized. If rewriting fails, the next attempt comes when the file has
 * doubled. */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/varint.h"
#include "file/writer_inside.h"

#define WORTH_IT 0.25      /* outdated part that makes rewriting worth it */
#define WORTH_A_COPY 65536 /* bytes of rows */

/* Return the part of the rows in the file that later ones replaced. */
static double stale_part(const sm_writer *w) {
    uint64_t taken = 0, ids = 0;
    for (int t = 0; t < SM_TABLES; t++) {
        taken += w->tables[t].taken;
        ids += w->tables[t].ids;
    }
    return taken > ids ? (double)(taken - ids) / (double)taken : 0;
}

int sm_writer_is_replaced(sm_writer *w) {
    if (w->torn || stale_part(w) >= WORTH_IT)
        return 1;
    sm_writer_plan_renewal(w, w->written); /* new rows have made the file larger */
    return 0;
}

int sm_writer_outgrown(sm_writer *w) {
    double stale = (double)w->of_tables * stale_part(w); /* bytes, approximately */
    return w->path != NULL && w->base == 0 && !w->torn && w->lost == 0 && !sm_writer_behind(w) &&
           w->of_tables >= WORTH_A_COPY && stale >= WORTH_IT * (double)w->written;
}

static bool read_at(int fd, void *to, size_t size, uint64_t at) {
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (uint8_t *)to + done, size - done, (off_t)(at + done));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Copy a chunk of a journal, or skip another. Return the offset of the next one, or 0 if it is damaged. */
static uint64_t copy_chunk(sm_writer *fresh, const sm_writer *w, int fd, uint64_t at, sm_buffer *payload) {
    uint8_t header[SM_CHUNK_HEADER];
    if (w->written - at < sizeof header || !read_at(fd, header, sizeof header, at))
        return 0;
    uint32_t size = sm_get_u32(header), kind = sm_get_u32(header + 4);
    if (size > w->written - at - sizeof header)
        return 0;
    if (sm_chunk_of_journal(kind) >= 0) { /* these chunks are never replaced */
        payload->size = 0;
        uint8_t *to = sm_buffer_reserve(payload, size);
        if (to == NULL || !read_at(fd, to, size, at + sizeof header) ||
            sm_crc32_update(&w->crc, sm_crc32_update(&w->crc, 0, header + 4, 4), to, size) != sm_get_u32(header + 8) ||
            sm_writer_append(fresh, kind, to, size) != 0) {
            return 0;
        }
    }
    return at + sizeof header + size;
}

int sm_writer_copy_journal(sm_writer *fresh, const sm_writer *w) {
    sm_buffer payload = {0};
    int saved_errno = errno, fd = sm_writer_reopen(w);
    uint64_t at = fd >= 0 ? SM_FILE_HEADER : 0;
    while (at != 0 && at < w->written)
        at = copy_chunk(fresh, w, fd, at, &payload);
    if (fd >= 0)
        close(fd);
    sm_buffer_free(&payload);
    errno = saved_errno;
    return at != 0 ? 0 : -1;
}

/* Return true if the path, the descriptor and the writer refer to one plain file without other names. */
static bool is_in_place(const sm_writer *w, struct stat *is) {
    struct stat named;
    return sm_writer_holds(w, is) && lstat(w->path, &named) == 0 && named.st_dev == is->st_dev &&
           named.st_ino == is->st_ino && S_ISREG(named.st_mode) && named.st_nlink == 1;
}

/* Return an unpredictable name in the file's folder. */
static char *temporary_name(const char *path) {
    size_t folder = (size_t)(strrchr(path, '/') - path);
    char *name = sm_malloc(folder + SM_NAME_ROOM);
    uint64_t random = 0;
    if (name != NULL) {
        (void)syscall(SYS_getrandom, &random, sizeof random, GRND_NONBLOCK); /* if it fails, O_EXCL still protects */
        memcpy(name, path, folder);
        snprintf(name + folder, SM_NAME_ROOM, "/.seismo-%ld-%016llx.part", (long)getpid(), (unsigned long long)random);
    }
    return name;
}

/* Open the new file, without a name if possible. Return -1 on failure. */
static int open_next_to(const char *path, char **temporary) {
    int fd = -1, named = -1;
    *temporary = temporary_name(path);
    if (*temporary == NULL)
        return -1;
#ifdef O_TMPFILE
    size_t folder = (size_t)(strrchr(*temporary, '/') - *temporary);
    (*temporary)[folder] = '\0';
    fd = open(folder ? *temporary : "/", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    (*temporary)[folder] = '/';
#endif
    if (fd < 0)
        named = open(*temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (named >= 0)
        return named;
    sm_free(*temporary);
    *temporary = NULL;
    return fd;
}

sm_writer *sm_writer_renew(sm_writer *w) {
    struct stat is, made;
    char *temporary = NULL;
    int saved_errno = errno, fd = is_in_place(w, &is) ? open_next_to(w->path, &temporary) : -1;
    sm_writer_plan_renewal(w, w->written); /* the plan if this fails */
    sm_writer *fresh = fd >= 0 ? sm_writer_new(fd) : NULL;
    if (fresh == NULL) {
        if (temporary != NULL)
            unlink(temporary);
        sm_free(temporary);
        if (fd >= 0)
            close(fd);
        errno = saved_errno;
        return NULL;
    }
    fresh->owns = true;
    fresh->temporary = temporary;
    sm_free(fresh->path); /* invalid for a file without a name */
    fresh->path = sm_copy_chars(w->path);
    bool same = fresh->path != NULL && fstat(fd, &made) == 0 &&
                (made.st_uid == is.st_uid || fchown(fd, is.st_uid, (gid_t)-1) == 0) &&
                (made.st_gid == is.st_gid || fchown(fd, (uid_t)-1, is.st_gid) == 0) &&
                fchmod(fd, is.st_mode & 07777) == 0;
    (void)flock(fd, LOCK_EX | LOCK_NB); /* nobody else has it open; without support there was no lock before */
    if (!same) {
        sm_writer_free(fresh);
        fresh = NULL;
    }
    errno = saved_errno;
    return fresh;
}

/* Give the new file the old one's name. */
static bool rename_over(sm_writer *fresh) {
    if (fresh->temporary == NULL) {
        char name[SM_NAME_ROOM];
        fresh->temporary = temporary_name(fresh->path);
        sm_writer_link_of(fresh->fd, name);
        if (fresh->temporary == NULL || linkat(AT_FDCWD, name, AT_FDCWD, fresh->temporary, AT_SYMLINK_FOLLOW) != 0) {
            SM_CLEAR(fresh->temporary);
            return false;
        }
    }
    if (rename(fresh->temporary, fresh->path) != 0)
        return false;
    SM_CLEAR(fresh->temporary);
    return true;
}

/* Give w's descriptor number to the file of another descriptor. Return the number, or -1. */
static int take_number(const sm_writer *w, int fd) {
    int number;
    do {
        number = dup3(fd, w->fd, O_CLOEXEC);
    } while (number < 0 && (errno == EINTR || errno == EBUSY));
    return number;
}

int sm_writer_take_place(sm_writer *fresh, sm_writer *w) {
    struct stat is;
    int saved_errno = errno;
    bool done = fresh->error == 0 && !fresh->stuck && fresh->lost == 0 && is_in_place(w, &is) && rename_over(fresh);
    if (done) {
        int number = take_number(w, fresh->fd);
        if (number >= 0) { /* otherwise the number is beyond a lowered limit, so it gets another */
            close(fresh->fd);
            fresh->fd = number;
            fresh->owns = false;
        }
        sm_writer_plan_renewal(fresh, fresh->written);
    }
    errno = saved_errno;
    return done;
}

int sm_writer_move(sm_writer *w, int fd) {
    struct stat is;
    int saved_errno = errno, number = -1;
    if (w->base >= 0 && fstat(fd, &is) == 0 && is.st_size == w->base + (off_t)w->written)
        number = take_number(w, fd);
    if (number >= 0) {
        w->device = is.st_dev;
        w->inode = is.st_ino;
    }
    errno = saved_errno;
    return number >= 0;
}
