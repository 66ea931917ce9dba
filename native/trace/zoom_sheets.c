#include "trace/zoom_sheets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/varint.h"
#include "trace/tokens.h"
#include "vendor/lz4/lz4.h"

static const uint64_t LATEST = (uint64_t)1 << 57;
enum { LEAST_SAVED = 16 };

int sm_zoom_sheet_parse(const uint8_t *payload, size_t length, sm_zoom_sheet_place *sheet) {
    const uint8_t *at = payload, *end = payload + length;
    uint64_t thread, level, start, took, raw;
    at = sm_varint_next(at, end, INT32_MAX, &thread);
    at = sm_varint_next(at, end, UINT64_MAX, &sheet->stream);
    at = sm_varint_next(at, end, SM_LEVELS - 1, &level);
    at = sm_varint_next(at, end, (uint64_t)1 << 40, &sheet->number);
    at = sm_varint_next(at, end, LATEST, &start);
    at = sm_varint_next(at, end, LATEST, &took);
    if (at == NULL || at == end)
        return -1;
    sheet->codec = *at++;
    at = sm_varint_next(at, end, SM_ZOOM_SHEET_MOST, &raw);
    if (at == NULL || raw == 0 || sheet->codec > SM_PIECE_LZ4 || length > UINT32_MAX ||
        (sheet->codec == SM_PIECE_PLAIN && (size_t)(end - at) != raw)) {
        return -1;
    }
    sheet->thread = (uint32_t)thread;
    sheet->level = (uint32_t)level;
    sheet->start = (int64_t)start;
    sheet->end = (int64_t)(start + took);
    sheet->payload = payload;
    sheet->length = (uint32_t)length;
    sheet->body = (uint32_t)(at - payload);
    sheet->raw = (uint32_t)raw;
    return 0;
}

bool sm_zoom_sheet_pack(const sm_zoom_sheet *sheet, sm_buffer *buffer) {
    size_t most = sheet->size > SM_ZOOM_SHEET_MOST ? 0 : (size_t)LZ4_COMPRESSBOUND((int)sheet->size);
    uint8_t *to = most ? sm_buffer_reserve(buffer, 10 * SM_VARINT_MAX + most) : NULL;
    if (to == NULL)
        return false;
    to = SM_VARINTS_PUT(to, sheet->thread, sheet->stream, sheet->level, sheet->number, (uint64_t)sheet->start,
                        (uint64_t)(sheet->end - sheet->start));
    uint8_t *codec = to++;
    to = sm_varint_put(to, sheet->size);
    int packed = LZ4_compress_default((const char *)sheet->bytes, (char *)to, (int)sheet->size, (int)most);
    *codec = packed > 0 && (size_t)packed + LEAST_SAVED < sheet->size ? SM_PIECE_LZ4 : SM_PIECE_PLAIN;
    if (*codec == SM_PIECE_PLAIN) {
        memcpy(to, sheet->bytes, sheet->size);
        packed = (int)sheet->size;
    }
    buffer->size = (size_t)(to + packed - buffer->bytes);
    return true;
}

static int compare(const void *left, const void *right) {
    const sm_zoom_sheet_place *a = left, *b = right;
    SM_ORDER_BY(a, b, thread);
    SM_ORDER_BY(a, b, stream);
    SM_ORDER_BY(a, b, level);
    SM_ORDER_BY(a, b, number);
    return 0;
}

void sm_zoom_sheets_sort(sm_zoom_sheets *s) {
    if (s->sheets == 0)
        return;
    qsort(s->sheet, s->sheets, sizeof *s->sheet, compare);
    size_t kept = 1;
    for (size_t i = 1; i < s->sheets; i++) /* drops duplicates */
        if (compare(&s->sheet[i], &s->sheet[kept - 1]) != 0)
            s->sheet[kept++] = s->sheet[i];
    s->sheets = kept;
}

int sm_zoom_sheets_make(sm_zoom_sheets *s, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                        size_t threads) {
    *s = (sm_zoom_sheets){0};
    sm_crc32_init(&s->crc);
    s->sheet = sm_calloc(count, sizeof *s->sheet);
    if (s->sheet == NULL)
        return -1;
    s->room = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)places[2 * i], length = (uint64_t)places[2 * i + 1];
        sm_zoom_sheet_place *sheet = &s->sheet[s->sheets];
        s->sheets += at >= 12 && at <= size && length <= size - at &&
                     sm_zoom_sheet_parse(bytes + at, (size_t)length, sheet) == 0 && sheet->thread < threads;
    }
    sm_zoom_sheets_sort(s);
    return 0;
}

void sm_zoom_sheets_free(sm_zoom_sheets *s) {
    sm_free(s->sheet);
    sm_buffer_free(&s->memory);
    *s = (sm_zoom_sheets){0};
}

size_t sm_zoom_sheets_of(const sm_zoom_sheets *s, uint32_t thread, uint64_t stream, uint32_t level, size_t *count) {
    sm_zoom_sheet_place first = {.thread = thread, .stream = stream, .level = level}, after = first;
    after.level++;
    size_t begin = 0, end = 0;
    SM_BISECT(begin, s->sheets, compare(&s->sheet[middle], &first) < 0);
    SM_BISECT(end, s->sheets, compare(&s->sheet[middle], &after) < 0);
    *count = end - begin;
    return begin;
}

typedef struct {
    const uint8_t *at, *end; /* at: NULL once the data is invalid */
} taker;

static uint64_t take(taker *t, uint64_t most) {
    uint64_t value;
    t->at = sm_varint_next(t->at, t->end, most, &value);
    return value;
}

static void take_shares(taker *t, sm_row *row) {
    row->shares = (uint8_t)take(t, SM_SHARES);
    int64_t above = row->busy;
    for (unsigned i = 0; i < row->shares && t->at; i++) {
        row->share[i].rank = (uint32_t)take(t, UINT32_MAX);
        row->share[i].ns = above -= (int64_t)take(t, (uint64_t)above);
    }
    if (row->shares == 0)
        t->at = NULL;
}

static void take_row(taker *t, const sm_zoom_slice *slice, uint32_t *depth, sm_row *row) {
    uint64_t what = take(t, (uint64_t)SM_ZOOM_SLICE_DEPTHS * 4 + 3);
    *depth += (uint32_t)(what / 4);
    *row = (sm_row){.kind = what % 4, .depth = *depth, .calls = 1, .shares = 1, .start = slice->start};
    if (row->kind > SM_ROW_OPEN || *depth >= SM_ZOOM_SLICE_DEPTHS) {
        t->at = NULL;
    } else if (row->kind == SM_ROW_RUN) {
        row->calls = take(t, INT64_MAX);
        row->start += (int64_t)take(t, LATEST);
        row->end = row->start + (int64_t)take(t, LATEST);
        row->busy = row->end - row->start - (int64_t)take(t, (uint64_t)(row->end - row->start));
        take_shares(t, row);
        t->at = row->calls ? t->at : NULL;
    } else {
        row->share[0].rank = (uint32_t)take(t, UINT32_MAX);
        if (row->kind == SM_ROW_ENDED) {
            row->start -= (int64_t)take(t, (uint64_t)slice->start);
            row->end = slice->start + (int64_t)take(t, LATEST);
        } else {
            row->start += (int64_t)take(t, LATEST);
            row->end = slice->end > row->start ? slice->end : row->start;
        }
        row->busy = row->share[0].ns = row->end - row->start;
        row->flags = (uint32_t)take(t, UINT32_MAX);
    }
}

static int take_slices(const sm_zoom_sheet_place *sheet, taker *t, sm_zoom_sheet_rows *rows) {
    uint64_t block = 0;
    int64_t before = 0;
    while (t->at && t->at < t->end) {
        if (rows->slices == SM_ZOOM_SLICES)
            return 0;
        sm_zoom_slice *slice = &rows->slice[rows->slices];
        slice->flags = take(t, UINT64_MAX);
        slice->start = before + (int64_t)take(t, LATEST);
        slice->end = slice->start + (int64_t)take(t, LATEST);
        block += take(t, UINT64_MAX);
        slice->block = block;
        slice->skip = take(t, INT64_MAX);
        slice->calls = take(t, INT64_MAX);
        uint64_t count = take(t, (uint64_t)SM_ZOOM_SLICE_DEPTHS * 3);
        if (t->at == NULL || count > (uint64_t)(t->end - t->at) || slice->end > (int64_t)LATEST)
            return 0;
        if (!sm_room(&rows->row, &rows->room, rows->rows + (size_t)count, sizeof *rows->row))
            return -1;
        uint32_t depth = 0;
        for (uint64_t i = 0; i < count && t->at; i++)
            take_row(t, slice, &depth, &rows->row[rows->rows++]);
        rows->first[++rows->slices] = rows->rows;
        before = slice->end;
    }
    return t->at && rows->slices && rows->slice[0].start == sheet->start && before == sheet->end;
}

int sm_zoom_sheet_read(const sm_zoom_sheets *sheets, const sm_zoom_sheet_place *sheet, sm_zoom_sheet_rows *rows) {
    rows->slices = rows->rows = rows->first[0] = 0;
    rows->bytes.size = 0;
    if (!sheet->in_memory) {
        uint32_t crc = sm_crc32_update(&sheets->crc, 0, sheet->payload - 8, 4);
        if (sm_get_u32(sheet->payload - 12) != sheet->length ||
            sm_crc32_update(&sheets->crc, crc, sheet->payload, sheet->length) != sm_get_u32(sheet->payload - 4)) {
            return 0;
        }
    }
    const uint8_t *body = sheet->payload + sheet->body;
    size_t packed = sheet->length - sheet->body;
    taker t = {body, body + packed};
    if (sheet->codec == SM_PIECE_LZ4) {
        uint8_t *to = sm_buffer_reserve(&rows->bytes, sheet->raw);
        if (to == NULL)
            return -1;
        if (packed > INT32_MAX ||
            LZ4_decompress_safe((const char *)body, (char *)to, (int)packed, (int)sheet->raw) != (int)sheet->raw) {
            return 0;
        }
        t = (taker){to, to + sheet->raw};
    }
    return take_slices(sheet, &t, rows);
}

void sm_zoom_sheet_rows_free(sm_zoom_sheet_rows *rows) {
    sm_free(rows->row);
    sm_buffer_free(&rows->bytes);
}
