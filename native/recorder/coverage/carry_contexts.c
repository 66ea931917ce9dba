/* Copy contexts from the recording's file to one that is to replace it (file/writer_renew.c): they are not in memory.
 *
 * Contexts of the same name have one number by now, and rows of the same context and the same places become one.
 * Reading takes several times the file's size in memory, briefly, while events continue. If the old file lacks contexts
 * that it was given, for example because it was cut, it is not rewritten. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "file/reader.h"
#include "recorder/coverage/store.h"

static int compare(const void *left, const void *right) {
    const sm_cover_context_hit *a = left, *b = right;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static bool copy_hits(sm_output *fresh, const sm_read_table *table) {
    sm_cover_context_hit *hits = sm_malloc((table->rows + 1) * sizeof *hits);
    if (hits == NULL)
        return false;
    for (size_t i = 0; i < table->rows; i++) {
        hits[i] = (sm_cover_context_hit){
            (uint32_t)table->column[SM_CONTEXT_HITS_CONTEXT][i], (uint32_t)table->column[SM_CONTEXT_HITS_KIND][i],
            (uint32_t)(table->column[SM_CONTEXT_HITS_BASE][i] / 64), (uint64_t)table->column[SM_CONTEXT_HITS_BITS][i]};
    }
    qsort(hits, table->rows, sizeof *hits, compare);
    for (size_t i = 0; i < table->rows; i++) {
        if (i + 1 < table->rows && compare(&hits[i], &hits[i + 1]) == 0)
            hits[i + 1].bits |= hits[i].bits;
        else
            sm_cover_put_context_hit(fresh, &hits[i]);
    }
    sm_free(hits);
    return true;
}

static void copy_names(sm_output *fresh, const sm_read_data *data) {
    const sm_read_table *contexts = &data->table[SM_CONTEXTS];
    for (size_t i = 0; i < contexts->rows; i++) {
        const int64_t *offset = data->offsets + contexts->column[SM_CONTEXTS_NAME][i];
        sm_cover_put_context(fresh, (uint32_t)i, (const char *)data->data.bytes + offset[0],
                             (size_t)(offset[1] - offset[0]));
    }
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
            SM_CLEAR(bytes);
        }
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

bool sm_cover_carry_contexts(sm_output *fresh, const sm_output *old) {
    uint32_t contexts = sm_cover_store.contexts_saved;
    if (contexts == 0) /* The old file is not read, so it does not matter whether it was cut. */
        return true;
    int saved_errno = errno;
    size_t size;
    sm_read_data data = {0};
    uint8_t *bytes = sm_writer_behind(old->writer) ? NULL : bytes_of(old->writer, &size);
    bool done = bytes != NULL && sm_read(bytes, size, &data) == SM_READ_OK && data.problems == 0 &&
                data.table[SM_CONTEXTS].rows == contexts && copy_hits(fresh, &data.table[SM_CONTEXT_HITS]);
    if (done)
        copy_names(fresh, &data);
    sm_read_free(&data);
    sm_free(bytes);
    errno = saved_errno;
    return done;
}
