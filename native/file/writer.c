/* The writer.
 *
 * Pending data is in a string buffer in the file's form, a meta buffer, and an array of rows per table. A flush turns
 * each into a chunk in `out` and writes it. Rows are stored by column, with the shorter of plain and delta coding and
 * without zero columns: a node takes 10 to 25 bytes instead of 120.
 *
 * A failing disk. An incomplete chunk is cut off again (ftruncate), and `out` keeps it for the next flush; a pipe gets
 * the rest then. Recorders send the same rows again, so pending rows are compacted to the last of each id when they
 * have doubled, which bounds the memory.
 *
 * The descriptor. A program may close all descriptors (daemons do) and reuse their numbers, so each write checks
 * that ours is still the same file. Writes are positional, because the program or a forked child may move the
 * position. A file that was cut has a hole, so it is rewritten (writer_renew.c). */
#include "file/writer.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/varint.h"
#include "base/write_without_signal.h"
#include "file/writer_inside.h"

enum {
    LEAST_ZEROS = 3,             /* shorter runs of zeros are cheaper as values */
    ROWS_A_CHUNK = 16384,        /* 2 MB of nodes in memory; the most that a cut file loses */
    STRINGS_A_CHUNK = 1 << 20,   /* bytes; a longer string has its own chunk */
    LONGEST_STRING = 64 << 20,   /* bytes; longer ones are cut */
    RECORD_TABLE_COLUMN = 1 + 1, /* u8 column number, u8 encoding */
};

static void fail(sm_writer *w, int error) {
    if (w->error == 0)
        w->error = error;
}

sm_writer *sm_writer_new(int fd) {
    sm_writer *w = sm_calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_mutex_init(&w->taking, NULL);
    w->fd = fd;
    w->base = -1;
    w->strings_total = w->strings_written = 1;
    sm_crc32_init(&w->crc);
    struct stat is;
    if (fd >= 0 && fstat(fd, &is) == 0) {
        w->device = is.st_dev;
        w->inode = is.st_ino;
        w->base = S_ISREG(is.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
        sm_writer_find_path(w);
    }
    uint8_t header[SM_FILE_HEADER] = SM_FILE_MAGIC;
    sm_put_u16(header + 8, SM_FILE_VERSION);
    if (sm_buffer_append(&w->out, header, sizeof header) < 0) {
        sm_free(w);
        return NULL;
    }
    return w;
}

void sm_writer_free(sm_writer *w) {
    if (w == NULL)
        return;
    for (int t = 0; t < SM_TABLES; t++)
        sm_free(w->tables[t].cells);
    sm_buffer_free(&w->out);
    sm_buffer_free(&w->meta);
    sm_buffer_free(&w->strings);
    sm_buffer_free(&w->index);
    sm_writer_forget_path(w);
    sm_free(w);
}

/* ---- adding ---- */

/* Append the length and the bytes to a pending buffer. Return false if out of memory. With `taking`. */
static bool add_item(sm_writer *w, sm_buffer *pending, const char *bytes, size_t length) {
    uint8_t *to = sm_buffer_reserve(pending, SM_VARINT_MAX + length);
    if (to == NULL) {
        fail(w, ENOMEM);
        w->lost++;
        return false;
    }
    to = sm_varint_put(to, length);
    memcpy(to, bytes, length);
    pending->size = (size_t)(to + length - pending->bytes);
    return true;
}

uint64_t sm_writer_string(sm_writer *w, const char *text, size_t length) {
    assert(w != NULL && (text != NULL || length == 0));
    if (length == 0)
        return 0;
    if (length > LONGEST_STRING) {
        length = LONGEST_STRING;
        while (length && ((uint8_t)text[length] & 0xc0) == 0x80) /* not inside a character */
            length--;
    }
    pthread_mutex_lock(&w->taking);
    uint64_t index = add_item(w, &w->strings, text, length) ? w->strings_total++ : 0;
    pthread_mutex_unlock(&w->taking);
    return index;
}

void sm_writer_meta(sm_writer *w, const char *json, size_t length) {
    assert(w != NULL && json != NULL);
    pthread_mutex_lock(&w->taking);
    (void)add_item(w, &w->meta, json, length);
    pthread_mutex_unlock(&w->taking);
}

/* Keep only the last row of each id, in the order of first appearance. Rows with large ids stay. */
static void compact(pending *p, int columns) {
    size_t kept = 0, limit = p->rows * 8 + 65536;
    uint32_t *last = sm_calloc(limit, sizeof *last); /* maps an id to its row + 1 */
    if (last == NULL) {
        p->compacted = p->rows; /* try again when they have doubled */
        return;
    }
    for (size_t r = 0; r < p->rows; r++) {
        cell *row = p->cells + r * (size_t)columns;
        uint64_t id = (uint64_t)row[0].i;
        size_t to = id < limit && last[id] ? last[id] - 1 : kept++;
        if (id < limit)
            last[id] = (uint32_t)to + 1;
        if (to != r)
            memcpy(p->cells + to * (size_t)columns, row, (size_t)columns * sizeof(cell));
    }
    sm_free(last);
    p->rows = p->compacted = kept;
}

/* Return room for a row, or NULL if out of memory. With `taking`. */
static cell *row_room(pending *p, int columns) {
    if (p->rows >= ROWS_A_CHUNK && p->rows >= 2 * p->compacted)
        compact(p, columns);
    if (p->rows == p->room) {
        size_t room = p->room ? p->room * 2 : 64;
        cell *cells = sm_realloc(p->cells, room * (size_t)columns * sizeof(cell));
        if (cells == NULL)
            return NULL;
        p->cells = cells;
        p->room = room;
    }
    return p->cells + p->rows++ * (size_t)columns;
}

static bool build_all(sm_writer *w);
static void flush(sm_writer *w);

/* Encode what is pending. The caller holds `lock`. */
static bool build(sm_writer *w) {
    pthread_mutex_lock(&w->taking);
    w->building = true;
    bool whole = build_all(w);
    w->building = false;
    pthread_mutex_unlock(&w->taking);
    return whole;
}

/* Build chunks unless another thread is writing; the next row tries again. If rows are not held, write the chunks. */
static void make_room(sm_writer *w) {
    if (w->held && pthread_mutex_trylock(&w->lock) != 0)
        return;
    if (w->held) {
        (void)build(w);
    } else {
        pthread_mutex_lock(&w->lock);
        flush(w);
    }
    pthread_mutex_unlock(&w->lock);
}

void sm_writer_row(sm_writer *w, sm_table_kind table, const int64_t *ints, const double *floats) {
    assert(w != NULL && ints != NULL && (unsigned)table < SM_TABLES);
    pending *p = &w->tables[table];
    int columns = sm_tables[table].columns;
    pthread_mutex_lock(&w->taking);
    if (p->rows >= ROWS_A_CHUNK && !SM_READ(w->stuck)) {
        pthread_mutex_unlock(&w->taking);
        make_room(w);
        pthread_mutex_lock(&w->taking);
    }
    cell *row = row_room(p, columns);
    p->taken++;
    p->ids = ints[0] >= 0 && (uint64_t)ints[0] >= p->ids ? (uint64_t)ints[0] + 1 : p->ids;
    if (row == NULL) {
        fail(w, ENOMEM);
        w->lost++;
    }
    for (int c = 0; row != NULL && c < columns; c++)
        if (sm_tables[table].column[c].type == SM_TYPE_REAL)
            row[c].f = floats ? floats[c] : 0;
        else
            row[c].i = ints[c];
    pthread_mutex_unlock(&w->taking);
}

/* ---- writing ---- */

bool sm_writer_holds(const sm_writer *w, struct stat *is) {
    if (fstat(w->fd, is) < 0)
        return false;
    return is->st_dev == w->device && is->st_ino == w->inode;
}

static bool is_cut(const sm_writer *w, const struct stat *is) {
    return w->base >= 0 && is->st_size < w->base + (off_t)w->written;
}

void sm_writer_look(sm_writer *w) {
    struct stat is;
    pthread_mutex_lock(&w->lock);
    w->torn = w->torn || (sm_writer_holds(w, &is) && is_cut(w, &is));
    pthread_mutex_unlock(&w->lock);
}

/* Mark the header that data is missing. A full disk still accepts changed bytes. */
static void mark_behind(sm_writer *w, bool behind) {
    uint8_t flags[2];
    if (behind == w->marked || w->base < 0 || w->written == 0)
        return;
    sm_put_u16(flags, behind ? SM_FILE_BEHIND : 0);
    if (pwrite(w->fd, flags, sizeof flags, w->base + SM_FILE_FLAGS_AT) == sizeof flags)
        w->marked = behind;
}

/* Send all of `out`. Return true if all was written. */
static bool send_out(sm_writer *w) {
    if (w->fd < 0 || w->out.size == 0 || w->building)
        return true;
    struct stat is;
    if (!sm_writer_holds(w, &is)) {
        fail(w, EBADF);
        return false;
    }
    w->torn = w->torn || is_cut(w, &is);
    if (w->torn) {
        fail(w, EIO);
        return false;
    }
    while (w->out_sent < w->out.size) {
        const uint8_t *from = w->out.bytes + w->out_sent;
        size_t size = w->out.size - w->out_sent;
        ssize_t n = sm_write(w->fd, from, size, w->base < 0 ? -1 : w->base + (off_t)(w->written + w->out_sent));
        if (n <= 0) {
            if (n < 0 && errno == EINTR)
                continue;
            fail(w, n < 0 ? errno : ENOSPC);
            if (w->base >= 0 && ftruncate(w->fd, w->base + (off_t)w->written) == 0)
                w->out_sent = 0;
            mark_behind(w, true);
            return false;
        }
        w->out_sent += (size_t)n;
    }
    w->written += w->out.size;
    mark_behind(w, false);
    w->out.size = w->out_sent = 0;
    return true;
}

/* Begin and end a chunk in `out`. If it was not built completely, remove it and set ENOMEM. */
static bool chunk_begin(sm_writer *w) {
    w->chunk_start = w->out.size;
    if (sm_buffer_reserve(&w->out, SM_CHUNK_HEADER) == NULL) {
        fail(w, ENOMEM);
        return false;
    }
    w->out.size += SM_CHUNK_HEADER;
    return true;
}

static bool chunk_end(sm_writer *w, uint32_t kind, bool built) {
    size_t payload = w->out.size - w->chunk_start - SM_CHUNK_HEADER;
    uint64_t offset = (w->fd < 0 ? 0 : w->written) + w->chunk_start;
    uint8_t entry[2 * SM_VARINT_MAX], *to = sm_varint_put(entry, kind);
    to = sm_varint_put(to, offset - w->index_last);
    if (!built || payload > UINT32_MAX || sm_buffer_append(&w->index, entry, (size_t)(to - entry)) < 0) {
        w->out.size = w->chunk_start;
        fail(w, ENOMEM);
        return false;
    }
    w->index_count++;
    w->index_last = offset;
    w->of_tables += sm_chunk_of_journal(kind) >= 0 ? 0 : SM_CHUNK_HEADER + payload;
    uint8_t *header = w->out.bytes + w->chunk_start;
    sm_put_u32(header, (uint32_t)payload);
    sm_put_u32(header + 4, kind);
    sm_put_u32(header + 8, 0);
    uint32_t crc = sm_crc32_update(&w->crc, 0, header + 4, 4);
    crc = sm_crc32_update(&w->crc, crc, header + SM_CHUNK_HEADER, payload);
    sm_put_u32(header + 8, crc);
    return true;
}

/* Return how many of the uvarint-prefixed items make a chunk of reasonable size, of *size bytes. */
static uint64_t take_items(const sm_buffer *items, size_t *size) {
    const uint8_t *at = items->bytes, *end = items->bytes + items->size;
    uint64_t count = 0, length = 0;
    while (at < end && (count == 0 || at - items->bytes < STRINGS_A_CHUNK)) {
        at = sm_varint_get(at, end, &length) + length; /* The bytes are our own, so they are whole. */
        count++;
    }
    *size = (size_t)(at - items->bytes);
    return count;
}

static void drop_front(sm_buffer *buffer, size_t size) {
    buffer->size -= size;
    memmove(buffer->bytes, buffer->bytes + size, buffer->size);
}

static bool flush_meta(sm_writer *w) {
    while (w->meta.size) {
        uint64_t length = 0;
        const uint8_t *json = sm_varint_get(w->meta.bytes, w->meta.bytes + w->meta.size, &length);
        if (!chunk_begin(w) || !chunk_end(w, SM_CHUNK_META, sm_buffer_append(&w->out, json, length) == 0))
            return false;
        drop_front(&w->meta, (size_t)(json + length - w->meta.bytes));
        if (!send_out(w))
            return false;
    }
    return true;
}

static bool flush_strings(sm_writer *w) {
    while (w->strings.size) {
        size_t size;
        uint64_t count = take_items(&w->strings, &size);
        if (!chunk_begin(w))
            return false;
        bool built = sm_buffer_append_varint(&w->out, w->strings_written) == 0 &&
                     sm_buffer_append_varint(&w->out, count) == 0 &&
                     sm_buffer_append(&w->out, w->strings.bytes, size) == 0;
        if (!chunk_end(w, SM_CHUNK_STRS, built))
            return false;
        drop_front(&w->strings, size);
        w->strings_written += count;
        if (!send_out(w))
            return false;
    }
    return true;
}

/* Return what a column stores in row r: the bits of the value, or the zigzag of its difference from the row before. */
static uint64_t stored(const cell *cells, size_t r, int columns, int base) {
    const cell *at = cells + r * (size_t)columns;
    if (base != SM_ENCODING_DELTA)
        return (uint64_t)at->i;
    return sm_zigzag((int64_t)((uint64_t)at->i - (r > 0 ? (uint64_t)at[-columns].i : 0)));
}

static size_t stored_size(uint64_t value, int base) {
    return base == SM_ENCODING_F64 ? sizeof value : sm_varint_size(value);
}

/* Find the group of rows that begins at r: zeros, then others until the next zeros worth a group. Return its end. */
static size_t next_group(const cell *cells, size_t r, size_t rows, int columns, int base, size_t *zeros) {
    size_t from = r, end;
    for (; r < rows && stored(cells, r, columns, base) == 0; r++)
        ;
    *zeros = r - from;
    for (end = r; r < rows && r - end < LEAST_ZEROS; r++)
        if (stored(cells, r, columns, base) != 0)
            end = r + 1;
    return r == rows && r - end < LEAST_ZEROS ? rows : end;
}

static size_t measure_runs(const cell *cells, size_t rows, int columns, int base) {
    size_t size = 0, zeros;
    for (size_t r = 0, end; r < rows; r = end) {
        end = next_group(cells, r, rows, columns, base, &zeros);
        size += sm_varint_size(zeros) + sm_varint_size(end - r - zeros);
        for (size_t i = r + zeros; i < end; i++)
            size += stored_size(stored(cells, i, columns, base), base);
    }
    return size;
}

/* Return the encoding of a column and set its size in bytes, 0 if all values are 0. */
static int choose_encoding(const cell *cells, size_t rows, int columns, sm_column_type type, bool runs, size_t *size) {
    size_t plain = 0, delta = 0, plain_others = 0, delta_others = 0;
    for (size_t r = 0; r < rows; r++) {
        uint64_t value = stored(cells, r, columns, SM_ENCODING_UVARINT);
        uint64_t change = stored(cells, r, columns, SM_ENCODING_DELTA);
        size_t value_size = sm_varint_size(value), change_size = sm_varint_size(change);
        plain += value_size;
        delta += change_size;
        plain_others += value != 0 ? value_size : 0;
        delta_others += change != 0 ? change_size : 0;
    }
    bool real = type == SM_TYPE_REAL;
    int base = real ? SM_ENCODING_F64 : delta < plain ? SM_ENCODING_DELTA : SM_ENCODING_UVARINT;
    *size = plain_others == 0 ? 0 : real ? rows * 8 : delta < plain ? delta : plain;
    if (!runs || *size == 0)
        return base;
    int runs_base = real ? SM_ENCODING_F64 : delta_others < plain_others ? SM_ENCODING_DELTA : SM_ENCODING_UVARINT;
    size_t with_runs = measure_runs(cells, rows, columns, runs_base);
    if (with_runs >= *size)
        return base;
    *size = with_runs;
    return runs_base | SM_ENCODING_RUNS;
}

static uint8_t *put_column(uint8_t *to, const cell *cells, size_t rows, int columns, int encoding) {
    int base = encoding & ~SM_ENCODING_RUNS;
    for (size_t r = 0, end = rows, zeros = 0; r < rows; r = end) {
        if (encoding & SM_ENCODING_RUNS) {
            end = next_group(cells, r, rows, columns, base, &zeros);
            to = sm_varint_put(sm_varint_put(to, zeros), end - r - zeros);
        }
        for (size_t i = r + zeros; i < end; i++) {
            if (base == SM_ENCODING_F64) {
                sm_put_f64(to, cells[i * (size_t)columns].f);
                to += 8;
            } else {
                to = sm_varint_put(to, stored(cells, i, columns, base));
            }
        }
    }
    return to;
}

static bool build_rows(sm_writer *w, sm_table_kind table, size_t rows) {
    int columns = sm_tables[table].columns, encodings[SM_MAX_COLUMNS], present = 0;
    size_t sizes[SM_MAX_COLUMNS], total = 1 + 2 * SM_VARINT_MAX;
    const cell *cells = w->tables[table].cells;
    for (int c = 0; c < columns; c++) {
        /* Ids have no runs, so that a row has a byte at least: a small file cannot make a reader allocate much. */
        encodings[c] = choose_encoding(cells + c, rows, columns, sm_tables[table].column[c].type, c > 0, &sizes[c]);
        present += sizes[c] != 0;
        total += RECORD_TABLE_COLUMN + SM_VARINT_MAX + sizes[c];
    }
    uint8_t *to = sm_buffer_reserve(&w->out, total + SM_VARINT_MAX);
    if (to == NULL)
        return false;
    *to++ = (uint8_t)table;
    to = sm_varint_put(to, rows);
    to = sm_varint_put(to, (uint64_t)present);
    for (int c = 0; c < columns; c++) {
        if (sizes[c]) {
            *to++ = (uint8_t)c;
            *to++ = (uint8_t)encodings[c];
            to = sm_varint_put(to, sizes[c]);
            to = put_column(to, cells + c, rows, columns, encodings[c]);
        }
    }
    w->out.size = (size_t)(to - w->out.bytes);
    return true;
}

static bool flush_table(sm_writer *w, sm_table_kind table) {
    pending *p = &w->tables[table];
    size_t columns = (size_t)sm_tables[table].columns;
    while (p->rows) {
        size_t rows = p->rows < ROWS_A_CHUNK ? p->rows : ROWS_A_CHUNK;
        if (!chunk_begin(w) || !chunk_end(w, SM_CHUNK_TABL, build_rows(w, table, rows)))
            return false;
        p->rows -= rows;
        memmove(p->cells, p->cells + rows * columns, p->rows * columns * sizeof(cell));
        p->compacted = 0;
        if (!send_out(w))
            return false;
    }
    return true;
}

static bool build_all(sm_writer *w) {
    bool whole = flush_meta(w) && flush_strings(w);
    for (int t = 0; whole && t < SM_TABLES; t++)
        whole = flush_table(w, (sm_table_kind)t);
    return whole;
}

/* Write what is pending: meta, strings, then the tables. The caller holds `lock`. */
static void flush(sm_writer *w) {
    pthread_mutex_lock(&w->taking);
    w->stuck = !send_out(w) || !build_all(w);
    pthread_mutex_unlock(&w->taking);
}

void sm_writer_hold(sm_writer *w) {
    assert(w != NULL);
    w->held = w->fd >= 0;
}

int sm_writer_catch_up(sm_writer *w) {
    assert(w != NULL && w->fd >= 0);
    pthread_mutex_lock(&w->lock);
    bool whole = send_out(w);
    if (whole) {
        whole = build(w);
        w->stuck = !send_out(w);
    }
    whole = whole && !w->stuck;
    pthread_mutex_unlock(&w->lock);
    return whole ? 0 : -1;
}

size_t sm_writer_append_all(sm_writer *w, uint32_t kind, const sm_payload *payloads, size_t count) {
    assert(w != NULL);
    pthread_mutex_lock(&w->lock);
    size_t taken = 0;
    for (bool goes = send_out(w); goes && taken < count; taken += goes) {
        const sm_payload *next = &payloads[taken];
        goes = chunk_begin(w) && chunk_end(w, kind, sm_buffer_append(&w->out, next->bytes, next->size) == 0);
    }
    if (taken != 0)
        w->stuck = !send_out(w);
    pthread_mutex_unlock(&w->lock);
    return taken;
}

int sm_writer_append(sm_writer *w, uint32_t kind, const uint8_t *payload, size_t size) {
    return sm_writer_append_all(w, kind, &(sm_payload){payload, size}, 1) == 1 ? 0 : -1;
}

void sm_writer_finish(sm_writer *w) {
    assert(w != NULL);
    pthread_mutex_lock(&w->lock);
    flush(w);
    if (!w->stuck && chunk_begin(w)) {
        uint8_t place[8]; /* offset of this chunk, to find it from the file's last bytes */
        sm_put_u64(place, (w->fd < 0 ? 0 : w->written) + w->chunk_start);
        bool built = sm_buffer_append_varint(&w->out, w->index_count) == 0 &&
                     sm_buffer_append(&w->out, w->index.bytes, w->index.size) == 0 &&
                     sm_buffer_append(&w->out, place, sizeof place) == 0;
        if (chunk_end(w, SM_CHUNK_END, built))
            w->stuck = !send_out(w);
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- queries ---- */

int sm_writer_error(const sm_writer *w) {
    return w->error;
}

int sm_writer_behind(sm_writer *w) {
    pthread_mutex_lock(&w->lock);
    bool behind = w->fd >= 0 && w->out.size != 0;
    pthread_mutex_unlock(&w->lock);
    return behind;
}

int sm_writer_is_stuck(sm_writer *w) {
    return sm_writer_behind(w) && w->error != 0 && !(w->torn && sm_writer_grown(w));
}

uint64_t sm_writer_lost(const sm_writer *w) {
    return w->lost;
}

uint64_t sm_writer_offset(const sm_writer *w) {
    return w->fd < 0 ? w->out.size : w->written;
}

void sm_writer_identity(const sm_writer *w, uint64_t identity[2]) {
    identity[0] = (uint64_t)w->device;
    identity[1] = (uint64_t)w->inode;
}

const uint8_t *sm_writer_bytes(const sm_writer *w, size_t *size) {
    *size = w->fd < 0 ? w->out.size : 0;
    return w->fd < 0 ? w->out.bytes : NULL;
}
