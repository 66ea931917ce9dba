/* Writes a recording: append-only chunks, as docs/format.md has them.
 *
 * No Python.h. Call it with the GIL held or otherwise never concurrently, from any thread. It takes no lock and owns no
 * descriptor, so after a fork the child just frees its copy (sm_writer_free writes nothing). */
#ifndef SM_FILE_WRITER_H
#define SM_FILE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "file/tables.h"

typedef struct sm_writer sm_writer;

/* A writer to `fd` from its present position on (-1: into memory), and the header. NULL when out of memory. The caller
 * closes fd. If fd later comes to mean another file, nothing is written there: the error is EBADF. */
sm_writer *sm_writer_new(int fd);
void sm_writer_free(sm_writer *w);

/* Adds UTF-8 text (surrogates passed) and returns its index; nothing is deduplicated, except that "" is 0. It is
 * written before any row that is added later. Out of memory: returns 0 and sets the error. */
uint64_t sm_writer_string(sm_writer *w, const char *text, size_t length);
/* Adds a JSON object; its keys override those of earlier ones. */
void sm_writer_meta(sm_writer *w, const char *json, size_t length);
/* Adds a row: integer and string columns from ints[column number], f8 columns from floats[column number] (NULL allowed
 * for tables without any). A later row with the same id replaces an earlier one. May write (a chunk's worth of rows).
 */
void sm_writer_row(sm_writer *w, sm_table_kind table, const int64_t *ints, const double *floats);

/* Writes what is pending: meta, strings, then a chunk or more of each table. */
void sm_writer_flush(sm_writer *w);
/* A flush in two steps, for who must not wait for the disk with a lock held. After sm_writer_hold, rows are taken in
 * and, when there are many, made bytes, but not written. sm_writer_build makes bytes of what is pending, unless older
 * ones could not be written. sm_writer_send writes these; meanwhile other threads may add rows and strings, and nothing
 * else. */
void sm_writer_hold(sm_writer *w);
void sm_writer_build(sm_writer *w);
void sm_writer_send(sm_writer *w);
/* flush + the END chunk. More may follow, and another finish. */
void sm_writer_finish(sm_writer *w);

/* Writes a chunk of this kind at once. From any thread, without the GIL. 0; else nothing was taken in: older writes
 * have failed and come first, or there is no memory. */
int sm_writer_append(sm_writer *w, uint32_t kind, const uint8_t *payload, size_t size);

/* The same of several, with one write. Returns how many were taken in, from the first on. */
typedef struct {
    const uint8_t *bytes;
    size_t size;
} sm_payload;
size_t sm_writer_append_all(sm_writer *w, uint32_t kind, const sm_payload *payloads, size_t count);

/* A flush from any thread, without the GIL: writes what is pending, while other threads may add rows and strings; they
 * do not wait for the disk. 0; else something is still to be written. */
int sm_writer_catch_up(sm_writer *w);

/* errno of the first failure (ENOMEM: something was not taken in), 0 if there was none; it stays. After a failed write
 * the file ends at its last whole chunk, and every later flush tries again with what it lacks. */
int sm_writer_error(const sm_writer *w);
/* Whether the file still lacks something that was made bytes. */
int sm_writer_behind(sm_writer *w);
/* Whether a write failed and nothing new is to be put in before a flush has caught up. A file that was cut is not
 * stuck: it can be written anew. */
int sm_writer_is_stuck(sm_writer *w);
/* Rows and strings that were not taken in for want of memory. */
uint64_t sm_writer_lost(const sm_writer *w);
/* Bytes in the file, or in memory. */
uint64_t sm_writer_offset(const sm_writer *w);
/* Which file it is, as fstat has it: [0] its device, [1] its inode; of memory and after a failed fstat 0 and 0. */
void sm_writer_identity(const sm_writer *w, uint64_t identity[2]);

/* ---- the whole file anew: see writer_renew.c ---- */

/* Looks whether somebody has cut the file, which is then worth writing anew. */
void sm_writer_look(sm_writer *w);
/* Whether the file has grown so much that it may be worth writing it anew. */
int sm_writer_grown(const sm_writer *w);
/* Of one that has: whether rows that later ones replace are a good part of it. If not, it may grow on. */
int sm_writer_is_replaced(sm_writer *w);
/* The same of a file with a journal, of which only the rest is replaced by later rows: whether what has been replaced
 * is a good part of it. */
int sm_writer_outgrown(sm_writer *w);
/* Copies the journal of w's file, all of which is written, to the end of another. 0, or -1: not all of it is there. */
int sm_writer_copy_journal(sm_writer *fresh, const sm_writer *w);
/* A writer into a new file that is to take the place of w's: the caller puts in all that w's recording holds. NULL:
 * that cannot be done now; w goes on, and the next time that it is grown comes later. */
sm_writer *sm_writer_renew(sm_writer *w);
/* After the flush: the new file takes the old one's name and descriptor, and w is to be freed. 0: it could not, or the
 * new file lacks something: w goes on as it is, and `fresh` is to be freed, which removes its file. */
int sm_writer_take_place(sm_writer *fresh, sm_writer *w);

/* Goes on in another file, of which fd is an opening and which is a copy of this one: it takes the descriptor's number,
 * and fd is the caller's to close. 0: it is not as long, or cannot be had; w goes on as it is. */
int sm_writer_move(sm_writer *w, int fd);

/* Where the program has closed the descriptor: opens the file again under the same number, if that is free and the file
 * is where it was. For the recording's end: while the program goes on, it may count on the numbers that it gets. */
void sm_writer_regain(sm_writer *w);

/* Another opening of the file, for reading, from where our header is; -1: none can be had. The caller closes it. */
int sm_writer_reopen(const sm_writer *w);

/* What a memory writer has written; valid until the next call. */
const uint8_t *sm_writer_bytes(const sm_writer *w, size_t *size);

#endif
