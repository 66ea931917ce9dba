/* Rewrite the recording's file when most of it is out of date (file/writer_renew.c), while events continue.
 *
 * It has three steps, between which the lock of the rows is free, so that no event waits for the disk:
 *
 * - begin: a new writer gets all places under their numbers. From here on every new row goes into both files.
 * - gather: contexts, which are not in memory, are read back from the old file, and merged under their numbers.
 * - end: the new file was sent and replaces the old one, or the old one continues.
 *
 * Reading takes several times the file's size in memory, briefly. If the old file lacks contexts that it was given, for
 * example because it was cut, it is not rewritten. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "file/reader.h"
#include "recorder/coverage/store.h"

typedef struct {
    int64_t context, kind, base;
    uint64_t bits;
} hit;

static struct {
    /* Guard: the lock of the file. */
    sm_read_data data;
    hit *hits; /* owned; one for each context, kind and base */
    size_t count;
    bool sound; /* they are all that the old file was given */
} old;

static void forget_old(void) {
    sm_read_free(&old.data);
    sm_free(old.hits);
    memset(&old, 0, sizeof old);
}

static void give_up(void) {
    forget_old();
    sm_output_close(&sm_cover_store.fresh);
}

static int compare(const void *left, const void *right) {
    const hit *a = left, *b = right;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->base < b->base ? -1 : a->base > b->base;
}

static bool merge_hits(void) {
    const sm_read_table *table = &old.data.table[SM_CONTEXT_HITS];
    old.hits = sm_malloc((table->rows + 1) * sizeof *old.hits);
    if (old.hits == NULL)
        return false;
    for (size_t i = 0; i < table->rows; i++) {
        old.hits[i] = (hit){table->column[SM_CONTEXT_HITS_CONTEXT][i], table->column[SM_CONTEXT_HITS_KIND][i],
                            table->column[SM_CONTEXT_HITS_BASE][i], (uint64_t)table->column[SM_CONTEXT_HITS_BITS][i]};
    }
    qsort(old.hits, table->rows, sizeof *old.hits, compare);
    for (size_t i = 0; i < table->rows; i++) {
        if (old.count > 0 && compare(&old.hits[old.count - 1], &old.hits[i]) == 0)
            old.hits[old.count - 1].bits |= old.hits[i].bits;
        else
            old.hits[old.count++] = old.hits[i];
    }
    return true;
}

/* Return the bytes of the file, by another opening of it, or NULL. */
static uint8_t *bytes_of(const sm_writer *writer, size_t *size) {
    struct stat is;
    uint64_t identity[2];
    int fd = sm_writer_reopen(writer);
    sm_writer_identity(writer, identity);
    *size = (size_t)sm_writer_offset(writer);
    uint8_t *bytes = fd >= 0 && fstat(fd, &is) == 0 && is.st_dev == identity[0] && is.st_ino == identity[1]
                         ? sm_malloc(*size + 1)
                         : NULL;
    size_t have = 0;
    while (bytes != NULL && have < *size) {
        ssize_t more = read(fd, bytes + have, *size - have);
        if (more > 0) {
            have += (size_t)more;
        } else if (more == 0 || errno != EINTR) {
            sm_free(bytes);
            bytes = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

void sm_cover_anew_read(uint32_t contexts) {
    sm_writer *writer = sm_cover_store.output.writer;
    int saved_errno = errno;
    size_t size;
    assert(sm_cover_store.fresh.writer != NULL && old.hits == NULL && contexts > 0);
    uint8_t *bytes = sm_writer_behind(writer) ? NULL : bytes_of(writer, &size);
    old.sound = bytes != NULL && sm_read(bytes, size, &old.data) == SM_READ_OK && old.data.problems == 0 &&
                old.data.table[SM_CONTEXTS].rows == contexts && merge_hits();
    sm_free(bytes);
    errno = saved_errno;
}

bool sm_cover_anew_begin(const sm_about *about) {
    sm_cover_store_state *store = &sm_cover_store;
    assert(store->fresh.writer == NULL);
    sm_writer *writer = sm_output_renew(&store->output, false);
    if (writer == NULL || !sm_output_open(&store->fresh, writer, true, about)) {
        sm_output_close(&store->fresh);
        return false;
    }
    sm_writer_hold(writer);
    store->fresh_hit_rows = 0;
    sm_cover_write_all(&store->fresh);
    return true;
}

bool sm_cover_anew_gather(void) {
    sm_cover_store_state *store = &sm_cover_store;
    const sm_read_table *contexts = &old.data.table[SM_CONTEXTS];
    if (store->context_rows > 0 && !old.sound) {
        give_up();
        return false;
    }
    for (size_t i = 0; i < contexts->rows; i++) {
        const int64_t *offset = old.data.offsets + contexts->column[SM_CONTEXTS_NAME][i];
        sm_cover_put_context(&store->fresh, (uint32_t)i, (const char *)old.data.data.bytes + offset[0],
                             (size_t)(offset[1] - offset[0]));
    }
    for (size_t i = 0; i < old.count; i++) {
        const hit *one = &old.hits[i];
        sm_cover_put_hit(&store->fresh, store->fresh_hit_rows++, one->context, (int)one->kind, one->base, one->bits);
    }
    forget_old();
    return true;
}

bool sm_cover_anew_end(void) {
    sm_cover_store_state *store = &sm_cover_store;
    store->fresh.whole = false;
    if (!sm_output_take_place(&store->fresh, &store->output))
        return false;
    store->hit_rows = store->fresh_hit_rows;
    return true;
}
