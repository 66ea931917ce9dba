/* The sheets of a journal's levels, as they are in the file, and what is on one. Trusts nothing in the file. No
 * Python.h. */
#ifndef SM_TRACE_ZOOM_SHEETS_H
#define SM_TRACE_ZOOM_SHEETS_H

#include "base/crc32.h"
#include "trace/zoom_slices.h"

typedef struct {
    uint64_t stream, number;
    uint32_t thread, level;
    int64_t start, end;     /* ns since the process began */
    const uint8_t *payload; /* borrowed */
    uint32_t length;        /* of the payload */
    uint32_t body, raw;     /* where its bytes begin in the payload; how many they are when unpacked */
    uint8_t codec;
    bool in_memory; /* it has no frame with a checksum before it */
} sm_zoom_sheet_place;

typedef struct sm_zoom_sheets {
    sm_zoom_sheet_place *sheet; /* owned; by thread, stream, level and number */
    size_t sheets, room, dropped;
    sm_buffer memory; /* payloads of those that were made by the reader */
    sm_crc32 crc;
} sm_zoom_sheets;

/* Reads a payload's head. 0, or -1: it makes no sense. */
int sm_zoom_sheet_parse(const uint8_t *payload, size_t length, sm_zoom_sheet_place *sheet);
/* A payload of a sheet. False: out of memory. */
bool sm_zoom_sheet_pack(const sm_zoom_sheet *sheet, sm_buffer *to);

/* places: pairs of offset and length of payloads in the file. 0, or -1 when out of memory; sm_zoom_sheets_free whatever
 * comes of it. */
int sm_zoom_sheets_make(sm_zoom_sheets *sheets, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                        size_t threads);
void sm_zoom_sheets_sort(sm_zoom_sheets *sheets);
void sm_zoom_sheets_free(sm_zoom_sheets *sheets);
/* The sheets of a level of a stream: the first of them in `sheet`, and how many. */
size_t sm_zoom_sheets_of(const sm_zoom_sheets *sheets, uint32_t thread, uint64_t stream, uint32_t level, size_t *count);

typedef struct {
    sm_zoom_slice slice[SM_ZOOM_SLICES];
    size_t first[SM_ZOOM_SLICES + 1]; /* of a slice's rows, in row */
    size_t slices;
    sm_row *row; /* owned; ranks are not checked */
    size_t rows, room;
    sm_buffer bytes;
} sm_zoom_sheet_rows;

/* What is on a sheet. 1; 0: it is damaged, or makes no sense; -1: out of memory. */
int sm_zoom_sheet_read(const sm_zoom_sheets *sheets, const sm_zoom_sheet_place *sheet, sm_zoom_sheet_rows *rows);
void sm_zoom_sheet_rows_free(sm_zoom_sheet_rows *rows);

#endif
