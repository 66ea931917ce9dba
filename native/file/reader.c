/* The reader: chunks and their contents. reader_check.c makes the result sound.
 *
 * If a checksum fails, the chunk's length may be damaged too, so the reader searches byte by byte for a known kind with
 * a valid checksum. Failed checksums are limited to four times the file's size. A lost chunk of strings leaves empty
 * names, because each chunk has the index of its first string.
 *
 * A row takes at least a byte in the file (its id), except a single row of zeros, so the row count is checked before
 * any allocation. Ids are dense except for lost rows, so the sum of all tables' ids is limited to the number of
 * bytes plus SM_FREE_IDS, and row_of is an array by id. */
#include "file/reader.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/varint.h"
#include "file/version1.h"

typedef struct {
    sm_read_data *data;
    const uint8_t *bytes;
    size_t size;
    size_t wasted;           /* bytes that were skipped because of failed checksums */
    int64_t *values;         /* owned; one chunk's columns, `room` each */
    size_t room;             /* rows */
    size_t allocated;        /* values */
    uint64_t ids[SM_TABLES]; /* for each table: the largest id in use + 1 */
    sm_crc32 crc;
} reader;

enum { SM_FREE_IDS = 1 << 16 }; /* ids may exceed the number of bytes by this much */

typedef enum { GOOD, BAD, NO_MEMORY } result;

/* ---- strings and meta ---- */

static result read_strings(reader *r, const uint8_t *at, const uint8_t *end) {
    sm_read_data *data = r->data;
    uint64_t first, count, length = 0;
    if ((at = sm_varint_get(at, end, &first)) == NULL || (at = sm_varint_get(at, end, &count)) == NULL ||
        count > (size_t)(end - at) || first < data->strings || first > r->size) {
        return BAD;
    }
    const uint8_t *check = at;
    for (uint64_t i = 0; i < count; i++) {
        if ((check = sm_varint_get(check, end, &length)) == NULL || length > (size_t)(end - check))
            return BAD;
        check += length;
    }
    if (!sm_read_reserve_strings(data, (size_t)(first + count)) || !sm_buffer_reserve(&data->data, (size_t)(end - at)))
        return NO_MEMORY;
    while (data->strings < first) /* strings of a missing chunk are empty */
        data->offsets[++data->strings] = (int64_t)data->data.size;
    for (uint64_t i = 0; i < count; i++) {
        at = sm_varint_get(at, end, &length);
        memcpy(data->data.bytes + data->data.size, at, length);
        at += length;
        data->data.size += length;
        data->offsets[++data->strings] = (int64_t)data->data.size;
    }
    return GOOD;
}

static result read_meta(reader *r, const uint8_t *at, const uint8_t *end) {
    size_t length = (size_t)(end - at);
    bool added =
        sm_buffer_append_varint(&r->data->meta, length) == 0 && sm_buffer_append(&r->data->meta, at, length) == 0;
    return added ? GOOD : NO_MEMORY;
}

/* ---- tables ---- */

static bool decode_column(int64_t *to, size_t rows, int encoding, bool real, const uint8_t *at, const uint8_t *end) {
    bool runs = (encoding & SM_ENCODING_RUNS) != 0;
    int base = encoding & ~SM_ENCODING_RUNS;
    uint64_t value, sum = 0, zeros = 0, others = rows;
    if (base > SM_ENCODING_F64 || real != (base == SM_ENCODING_F64))
        return false;
    for (size_t i = 0; i < rows;) {
        if (runs) {
            at = sm_varint_next(at, end, rows - i, &zeros);
            if ((at = sm_varint_next(at, end, rows - i - zeros, &others)) == NULL || zeros + others == 0)
                return false;
        }
        for (; zeros > 0; zeros--)
            to[i++] = (int64_t)sum;
        for (; others > 0; others--) {
            if (base == SM_ENCODING_F64) {
                if (end - at < 8)
                    return false;
                double number = sm_get_f64(at);
                memcpy(&to[i++], &number, sizeof number);
                at += 8;
                continue;
            }
            if ((at = sm_varint_get(at, end, &value)) == NULL)
                return false;
            if (base == SM_ENCODING_DELTA)
                value = sum += (uint64_t)sm_unzigzag(value); /* wraps, like the writer's difference */
            to[i++] = (int64_t)value;
        }
    }
    return at == end;
}

static bool grow_table(sm_read_table *table, int columns, size_t rows) {
    if (rows <= table->room)
        return true;
    size_t room = table->room + table->room / 2;
    room = room < rows ? rows : room;
    for (int c = 0; c < columns; c++) {
        int64_t *column = sm_realloc(table->column[c], room * sizeof *column);
        if (column == NULL)
            return false; /* memory ran out, so some columns may be larger than `room` */
        table->column[c] = column;
    }
    table->room = room;
    return true;
}

/* Return the first impossible id of a table. */
static uint64_t limit_of_ids(const reader *r, int kind) {
    uint64_t limit = (uint64_t)r->size + SM_FREE_IDS;
    for (int t = 0; t < SM_TABLES; t++)
        limit -= t == kind ? 0 : r->ids[t]; /* these were accepted within the limit */
    return limit > INT32_MAX ? INT32_MAX : limit;
}

/* Store the chunk's rows (r->values, column by column) by their ids. */
static result place_rows(reader *r, int kind, size_t rows, uint64_t offset) {
    sm_read_table *table = &r->data->table[kind];
    int columns = sm_tables[kind].columns;
    uint64_t limit = limit_of_ids(r, kind), refused = 0, highest = 0;
    const int64_t *ids = r->values;
    for (size_t i = 0; i < rows; i++) {
        uint64_t id = (uint64_t)ids[i];
        if (id >= limit)
            refused++;
        else if (id > highest)
            highest = id;
    }
    if (!grow_table(table, columns, table->rows + rows) ||
        !sm_room(&table->row_of, &table->ids, (size_t)highest + 1, sizeof *table->row_of))
        return NO_MEMORY;
    if (refused < rows && r->ids[kind] < highest + 1)
        r->ids[kind] = highest + 1;
    size_t run = 0; /* rows that continue the table are copied together */
    while (run < rows && (uint64_t)ids[run] == table->rows + run && (uint64_t)ids[run] < limit &&
           table->row_of[table->rows + run] == 0) {
        table->row_of[table->rows + run] = (uint32_t)(table->rows + run) + 1;
        run++;
    }
    for (int c = 0; run && c < columns; c++) /* without rows, nothing may be allocated */
        memcpy(table->column[c] + table->rows, r->values + (size_t)c * r->room, run * sizeof(int64_t));
    table->rows += run;
    for (size_t i = run; i < rows; i++) {
        uint64_t id = (uint64_t)ids[i];
        if (id >= limit)
            continue;
        if (table->row_of[id] == 0)
            table->row_of[id] = (uint32_t)++table->rows;
        size_t row = table->row_of[id] - 1;
        for (int c = 0; c < columns; c++)
            table->column[c][row] = r->values[(size_t)c * r->room + i];
    }
    if (refused)
        sm_read_problem(r->data, offset, "%llu rows with impossible ids were dropped", (unsigned long long)refused);
    return GOOD;
}

/* Allocate and clear one chunk's values. */
static bool clear_values(reader *r, int columns, size_t rows) {
    size_t needed = rows > SIZE_MAX / sizeof(int64_t) / SM_MAX_COLUMNS ? SIZE_MAX : rows * (size_t)columns;
    if (needed > r->allocated || r->values == NULL) {
        needed = needed < 1024 ? 1024 : needed;
        int64_t *values = needed == SIZE_MAX ? NULL : sm_realloc(r->values, needed * sizeof *values);
        if (values == NULL)
            return false;
        r->values = values;
        r->allocated = needed;
    }
    r->room = rows;
    for (int c = 0; c < columns; c++)
        memset(r->values + (size_t)c * r->room, 0, rows * sizeof(int64_t));
    return true;
}

/* Decode one column of a chunk into r->values. */
static bool read_column(reader *r, int kind, unsigned column, int encoding, size_t rows, const uint8_t *at,
                        const uint8_t *end) {
    int columns = sm_tables[kind].columns;
    bool old = r->data->version == 1;
    sm_version1_column to = old ? sm_version1_find(kind, column) : (sm_version1_column){(int)column, -1, 1};
    if (to.column < 0 || to.column >= columns)
        return true; /* a column whose meaning is gone, or of a later version */
    bool real = sm_tables[kind].column[to.column].type == SM_TYPE_REAL, is_f64 = (encoding & SM_ENCODING_F64) != 0;
    int64_t *values = r->values + (size_t)to.column * r->room, *old_values = r->values + (size_t)columns * r->room;
    if (!old)
        return decode_column(values, rows, encoding, real, at, end);
    if (!decode_column(old_values, rows, encoding, is_f64, at, end))
        return false;
    sm_version1_add(values, real, old_values, is_f64, to.factor, rows);
    if (to.also >= 0)
        sm_version1_add(r->values + (size_t)to.also * r->room, false, old_values, is_f64, to.factor, rows);
    return true;
}

static result read_table(reader *r, const uint8_t *at, const uint8_t *end, uint64_t offset) {
    uint64_t rows, present, length;
    size_t size = (size_t)(end - at);
    if (size == 0)
        return BAD;
    unsigned kind = *at++;
    if (kind >= SM_TABLES)
        return GOOD; /* a kind of a later version */
    if ((at = sm_varint_get(at, end, &rows)) == NULL || (at = sm_varint_get(at, end, &present)) == NULL)
        return BAD;
    if (present == 0 && rows > 1)
        rows = 1; /* rows without columns are identical */
    if (rows > size || r->data->table[kind].rows + rows > INT32_MAX)
        return BAD;
    if (!clear_values(r, sm_tables[kind].columns + 1, (size_t)rows)) /* one more column, for read_column */
        return NO_MEMORY;
    for (uint64_t i = 0; i < present; i++) {
        if (end - at < 2)
            return BAD;
        unsigned column = at[0], encoding = at[1];
        if ((at = sm_varint_get(at + 2, end, &length)) == NULL || length > (size_t)(end - at))
            return BAD;
        if (!read_column(r, (int)kind, column, (int)encoding, (size_t)rows, at, at + length))
            return BAD;
        at += length;
    }
    return at == end ? place_rows(r, (int)kind, (size_t)rows, offset) : BAD;
}

/* ---- chunks ---- */

static bool is_known_kind(uint32_t kind) {
    return kind == SM_CHUNK_META || kind == SM_CHUNK_STRS || kind == SM_CHUNK_TABL || kind == SM_CHUNK_END ||
           sm_chunk_of_journal(kind) >= 0;
}

/* Return true if a piece of a journal, or a sheet of its levels, seems to be at `offset`, by its header and the next
 * one. Most of a trace is pieces, whose checksums are verified only when they are read. */
static bool is_piece(const reader *r, size_t offset) {
    uint32_t kind = r->size - offset < SM_CHUNK_HEADER ? 0 : sm_get_u32(r->bytes + offset + 4);
    if (kind != SM_CHUNK_JRNL && kind != SM_CHUNK_LEVL)
        return false;
    size_t length = sm_get_u32(r->bytes + offset), rest = r->size - offset - SM_CHUNK_HEADER;
    if (length > rest)
        return false;
    const uint8_t *next = r->bytes + offset + SM_CHUNK_HEADER + length;
    return length == rest || (rest - length >= SM_CHUNK_HEADER && is_known_kind(sm_get_u32(next + 4)) &&
                              sm_get_u32(next) <= rest - length - SM_CHUNK_HEADER);
}

/* Return true if a whole chunk with a valid checksum is at `offset`. */
static bool is_chunk(const reader *r, size_t offset) {
    if (r->size - offset < SM_CHUNK_HEADER)
        return false;
    const uint8_t *header = r->bytes + offset;
    size_t length = sm_get_u32(header);
    if (length > r->size - offset - SM_CHUNK_HEADER)
        return false;
    uint32_t crc = sm_crc32_update(&r->crc, 0, header + 4, 4);
    return sm_crc32_update(&r->crc, crc, header + SM_CHUNK_HEADER, length) == sm_get_u32(header + 8);
}

/* Return the offset of the next chunk after damage, or the end of the file. */
static size_t search(reader *r, size_t from) {
    for (size_t offset = from; r->size - offset >= SM_CHUNK_HEADER; offset++) {
        const uint8_t *header = r->bytes + offset;
        if (!is_known_kind(sm_get_u32(header + 4)) || sm_get_u32(header) > r->size - offset - SM_CHUNK_HEADER)
            continue;
        if (is_chunk(r, offset))
            return offset;
        r->wasted += sm_get_u32(header);
        if (r->wasted / 4 > r->size)
            break;
    }
    return r->size;
}

/* Note the place of a journal's chunk, if the kind is not -1. */
static result note_place(reader *r, int kind, const uint8_t *payload, const uint8_t *end) {
    sm_buffer *journal = r->data->journal;
    int64_t pieces = (int64_t)(journal[SM_JOURNAL_PIECES].size / (2 * sizeof(int64_t)));
    int64_t place[3] = {(int64_t)(payload - r->bytes), end - payload, pieces};
    size_t size = sizeof place - (kind != SM_JOURNAL_HEADS ? sizeof *place : 0);
    return kind >= 0 && sm_buffer_append(&journal[kind], place, size) < 0 ? NO_MEMORY : GOOD;
}

static result read_chunk(reader *r, size_t offset, uint32_t kind, const uint8_t *payload, const uint8_t *end) {
    result got = GOOD;
    r->data->finished = kind == SM_CHUNK_END;
    switch (kind) {
    case SM_CHUNK_META:
        got = read_meta(r, payload, end);
        break;
    case SM_CHUNK_STRS:
        got = read_strings(r, payload, end);
        break;
    case SM_CHUNK_TABL:
        got = read_table(r, payload, end, offset);
        break;
    default: /* also END, and kinds of a later version */
        got = note_place(r, sm_chunk_of_journal(kind), payload, end);
        break;
    }
    if (got == BAD)
        sm_read_problem(r->data, offset, "the contents of a chunk make no sense; it is left out");
    return got;
}

/* The directory in the END chunk, with which the pieces of a journal need not be touched: their checksums are
 * verified when they are read. A directory that does not match the other chunks, which are all checked, is ignored. */
typedef struct {
    const uint8_t *at, *end; /* the remaining bytes of its entries */
    uint64_t count;
    size_t last; /* offset of the END chunk */
} directory;

/* Return true if a whole chunk of this kind and length is at `offset`. */
static bool is_just(const reader *r, size_t offset, uint32_t kind, size_t length) {
    return is_chunk(r, offset) && sm_get_u32(r->bytes + offset) == length && sm_get_u32(r->bytes + offset + 4) == kind;
}

static bool find_directory(const reader *r, directory *found) {
    const size_t least = SM_CHUNK_HEADER + 1 + sizeof(uint64_t);
    if (r->size < SM_FILE_HEADER + least)
        return false;
    uint64_t last = sm_get_u64(r->bytes + r->size - sizeof(uint64_t));
    if (last < SM_FILE_HEADER || last > r->size - least ||
        !is_just(r, (size_t)last, SM_CHUNK_END, r->size - (size_t)last - SM_CHUNK_HEADER)) {
        return false;
    }
    found->last = (size_t)last;
    found->end = r->bytes + r->size - sizeof(uint64_t);
    found->at = sm_varint_get(r->bytes + last + SM_CHUNK_HEADER, found->end, &found->count);
    return found->at != NULL;
}

/* Set the next chunk's kind, and its offset from that of the previous one. */
static bool take_entry(directory *of, size_t *offset, uint32_t *kind) {
    uint64_t number = 0, distance = 0;
    of->at = sm_varint_get(of->at, of->end, &number);
    of->at = of->at != NULL ? sm_varint_get(of->at, of->end, &distance) : NULL;
    if (of->at == NULL || number > UINT32_MAX || distance > of->last - *offset)
        return false;
    *offset += (size_t)distance;
    *kind = (uint32_t)number;
    return true;
}

/* Walk the directory's chunks, to check them or to read them. Return BAD if they do not match. */
static result follow(reader *r, directory of, bool take) {
    size_t offset = 0, next;
    uint32_t kind = SM_CHUNK_END, following = SM_CHUNK_END;
    if (of.count == 0 || !take_entry(&of, &offset, &kind) || offset != SM_FILE_HEADER)
        return BAD;
    for (uint64_t i = 1; i <= of.count; i++) {
        next = offset;
        if (i == of.count)
            next = of.last;
        else if (!take_entry(&of, &next, &following))
            return BAD;
        if (next - offset < SM_CHUNK_HEADER)
            return BAD;
        size_t length = next - offset - SM_CHUNK_HEADER;
        const uint8_t *payload = r->bytes + offset + SM_CHUNK_HEADER;
        bool piece = kind == SM_CHUNK_JRNL || kind == SM_CHUNK_LEVL;
        if (take && read_chunk(r, offset, kind, payload, payload + length) == NO_MEMORY)
            return NO_MEMORY;
        if (!take && !piece && !is_just(r, offset, kind, length))
            return BAD;
        offset = next;
        kind = following;
    }
    return of.at == of.end ? GOOD : BAD;
}

/* Return GOOD if all was read, or BAD if nothing was and the file has to be walked. */
static result read_by_directory(reader *r) {
    directory found;
    if (!find_directory(r, &found) || follow(r, found, false) != GOOD)
        return BAD;
    result got = follow(r, found, true);
    r->data->finished = got == GOOD;
    return got;
}

static bool read_chunks(reader *r) {
    result by_directory = read_by_directory(r);
    if (by_directory != BAD)
        return by_directory == GOOD;
    size_t offset = SM_FILE_HEADER;
    while (offset < r->size) {
        if (!is_piece(r, offset) && !is_chunk(r, offset)) {
            size_t next = search(r, offset + 1);
            r->data->finished = 0;
            if (next < r->size) {
                sm_read_problem(r->data, offset, "damaged: %zu bytes are left out", next - offset);
            } else {
                sm_read_problem(r->data, offset, "cut off or damaged here: the last %zu bytes are left out",
                                r->size - offset);
            }
            offset = next;
            continue;
        }
        const uint8_t *header = r->bytes + offset, *payload = header + SM_CHUNK_HEADER;
        size_t length = sm_get_u32(header);
        if (read_chunk(r, offset, sm_get_u32(header + 4), payload, payload + length) == NO_MEMORY)
            return false;
        offset += SM_CHUNK_HEADER + length;
    }
    return true;
}

sm_read_status sm_read(const uint8_t *bytes, size_t size, sm_read_data *data) {
    *data = (sm_read_data){.size = size};
    if (size < 8 || memcmp(bytes, SM_FILE_MAGIC, 8) != 0)
        return SM_READ_FOREIGN;
    data->version = size < SM_FILE_HEADER ? SM_FILE_VERSION : sm_get_u16(bytes + 8);
    if (data->version < 1 || data->version > SM_FILE_VERSION)
        return SM_READ_FUTURE;
    if (!sm_read_reserve_strings(data, 64))
        return SM_READ_NO_MEMORY;
    data->offsets[0] = data->offsets[1] = 0;
    data->strings = 1;
    if (size < SM_FILE_HEADER) {
        sm_read_problem(data, size, "cut off in its header");
        return SM_READ_OK;
    }
    data->behind = (sm_get_u16(bytes + SM_FILE_FLAGS_AT) & SM_FILE_BEHIND) != 0;
    reader r = {.data = data, .bytes = bytes, .size = size};
    sm_crc32_init(&r.crc);
    bool read = read_chunks(&r) && sm_read_check(data);
    sm_free(r.values);
    return read ? SM_READ_OK : SM_READ_NO_MEMORY;
}
