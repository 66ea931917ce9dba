/* The sheets of a journal's levels, in the file and unpacked. Nothing in the file is trusted. No Python.h. */
#pragma once

#include "base/crc32.h"
#include "trace/zoom_slices.h"

typedef struct {
    uint64_t stream, number;
    uint32_t thread, level;
    int64_t start, end;     /* ns since the process began */
    const uint8_t *payload; /* borrowed */
    uint32_t length;
    uint32_t body, raw; /* offset of the packed bytes in the payload; length unpacked */
    uint8_t codec;
    bool in_memory; /* made by the reader, without a frame or a checksum */
} sm_zoom_sheet_place;

typedef struct sm_zoom_sheets {
    sm_zoom_sheet_place *sheet; /* owned; by thread, stream, level and number */
    size_t sheets, room;
    sm_buffer memory; /* payloads of sheets made by the reader */
    sm_crc32 crc;
} sm_zoom_sheets;

/* Parse a payload's head. Return 0, or -1 if it is invalid. */
int sm_zoom_sheet_parse(const uint8_t *payload, size_t length, sm_zoom_sheet_place *sheet);
/* Append a sheet's payload. Return false if out of memory. */
bool sm_zoom_sheet_pack(const sm_zoom_sheet *sheet, sm_buffer *to);

/* Index the sheets. places: offset and length of each payload. Return 0, or -1 if out of memory; the caller frees in
 * both cases. */
int sm_zoom_sheets_make(sm_zoom_sheets *sheets, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                        size_t threads);
void sm_zoom_sheets_sort(sm_zoom_sheets *sheets);
void sm_zoom_sheets_free(sm_zoom_sheets *sheets);
/* Return the index of the first sheet of a stream's level, and their number in *count. */
size_t sm_zoom_sheets_of(const sm_zoom_sheets *sheets, uint32_t thread, uint64_t stream, uint32_t level, size_t *count);

typedef struct {
    sm_zoom_slice slice[SM_ZOOM_SLICES];
    size_t first[SM_ZOOM_SLICES + 1];
    size_t slices;
    sm_row *row; /* owned; ranks are unchecked */
    size_t rows, room;
    sm_buffer bytes;
} sm_zoom_sheet_rows;

/* Read a sheet. Return 1, 0 if it is damaged or invalid, or -1 if out of memory. */
int sm_zoom_sheet_read(const sm_zoom_sheets *sheets, const sm_zoom_sheet_place *sheet, sm_zoom_sheet_rows *rows);
void sm_zoom_sheet_rows_free(sm_zoom_sheet_rows *rows);
