/* Writes a recording in append-only chunks (docs/format.md). Call it with the GIL held or otherwise never
 * concurrently. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "file/tables.h"

typedef struct sm_writer sm_writer;

/* Return a writer to `fd` from its present position on (-1 for memory), with a header, or NULL if out of memory. The
 * caller closes fd. If fd becomes another file, nothing is written to it and the error is EBADF. */
sm_writer *sm_writer_new(int fd);
void sm_writer_free(sm_writer *w);

/* Add UTF-8 text (surrogates pass) and return its index, 0 for "". There is no deduplication. It is written before
 * later rows. Return 0 and set the error if out of memory. */
uint64_t sm_writer_string(sm_writer *w, const char *text, size_t length);
/* Add a JSON object; its keys override those of earlier ones. */
void sm_writer_meta(sm_writer *w, const char *json, size_t length);
/* Add a row from ints[column number] and, for REAL columns, floats[column number] (may be NULL without any). A later
 * row with the same id replaces it. May write a chunk. */
void sm_writer_row(sm_writer *w, sm_table_kind table, const int64_t *ints, const double *floats);

/* From now on, rows may be encoded when they are added, but are written only by sm_writer_catch_up or _finish. */
void sm_writer_hold(sm_writer *w);
/* Flush and write the END chunk. More may follow, and another finish. */
void sm_writer_finish(sm_writer *w);

/* Write a chunk at once, from any thread. Return 0, or nonzero if it was not accepted; older data comes first. */
int sm_writer_append(sm_writer *w, uint32_t kind, const uint8_t *payload, size_t size);

/* Write several chunks at once, from any thread. Return the number accepted. */
typedef struct {
    const uint8_t *bytes;
    size_t size;
} sm_payload;
size_t sm_writer_append_all(sm_writer *w, uint32_t kind, const sm_payload *payloads, size_t count);

/* Flush from any thread while others add rows and strings. Return 0, or nonzero if data remains. */
int sm_writer_catch_up(sm_writer *w);

/* Return the errno of the first failure (ENOMEM: data was not added), or 0. Every later flush retries failed writes. */
int sm_writer_error(const sm_writer *w);
/* Return true if encoded data is not in the file yet. */
int sm_writer_behind(sm_writer *w);
/* Return true if a write failed and nothing may be appended before a flush. A file that was cut can be rewritten. */
int sm_writer_is_stuck(sm_writer *w);
/* Return the number of rows and strings lost for lack of memory. */
uint64_t sm_writer_lost(const sm_writer *w);
/* Return the number of bytes in the file, or in memory. */
uint64_t sm_writer_offset(const sm_writer *w);
/* Set identity to the file's device and inode, or to 0 for memory and after a failed fstat. */
void sm_writer_identity(const sm_writer *w, uint64_t identity[2]);

/* ---- rewriting the file (writer_path.c, writer_renew.c) ---- */

/* Check whether the file was cut, which makes it worth rewriting. */
void sm_writer_look(sm_writer *w);
/* Return true if the file has grown so much that it may be worth rewriting. */
int sm_writer_grown(const sm_writer *w);
/* Return true if later rows replace many rows of a grown file. Otherwise it may grow on. */
int sm_writer_is_replaced(sm_writer *w);
/* Return true if replaced rows are a large part of a whole file with a journal. */
int sm_writer_outgrown(sm_writer *w);
/* Copy the journal of w's file to another. Return 0, or -1 if it is incomplete. */
int sm_writer_copy_journal(sm_writer *fresh, const sm_writer *w);
/* Return a writer into a new file that will replace w's, for the caller to fill with the whole recording, or NULL if
 * that is impossible now. */
sm_writer *sm_writer_renew(sm_writer *w);
/* Give the new file the old one's name and descriptor, after the flush; w is to be freed. Return 0 if that is
 * impossible or the new file is incomplete: w continues, and freeing `fresh` removes its file. */
int sm_writer_take_place(sm_writer *fresh, sm_writer *w);

/* Continue in another file, of which fd is an opening and which is a copy of this one, under the same descriptor
 * number. The caller closes fd. Return 0 if its size differs or it fails; w then continues as before. */
int sm_writer_move(sm_writer *w, int fd);

/* Open the file again under its number, at the recording's end, if the program closed its descriptor. */
void sm_writer_regain(sm_writer *w);

/* Return another descriptor of the file for reading, at our header, or -1. The caller closes it. */
int sm_writer_reopen(const sm_writer *w);

/* Return what a memory writer has written, valid until the next call. */
const uint8_t *sm_writer_bytes(const sm_writer *w, size_t *size);
