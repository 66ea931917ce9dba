/* What a writer is made of. For writer*.c only. */
#ifndef SM_FILE_WRITER_INSIDE_H
#define SM_FILE_WRITER_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/crc32.h"
#include "file/writer.h"

typedef union {
    int64_t i;
    double f;
} cell;

typedef struct {
    cell *cells;      /* owned; rows * columns */
    size_t rows;      /* pending */
    size_t room;      /* rows allocated */
    size_t compacted; /* rows that were left by the last compaction */
    uint64_t taken;   /* rows so far */
    uint64_t ids;     /* of them, different ones at most: the largest id + 1 */
} pending;

struct sm_writer {
    pthread_mutex_t lock;     /* of what follows, while chunks are put together and sent */
    pthread_mutex_t taking;   /* after `lock`, for instants: of what is pending, strings and rows, and of `lost` */
    int fd;                   /* borrowed; -1: memory */
    dev_t device;             /* which file fd was at the start */
    ino_t inode;              /* */
    off_t base;               /* where in the file our header is; -1: a pipe */
    int error;                /* first errno, sticky */
    bool stuck;               /* the last flush failed: sm_writer_row does not try, the next flush does */
    bool held;                /* set before other threads come: rows are not written until a flush */
    bool building;            /* chunks are put together in `out`, and not sent */
    uint64_t lost;            /* rows and strings not taken in */
    uint64_t written;         /* bytes of whole chunks in the file */
    size_t out_sent;          /* bytes of `out` that a pipe has taken */
    sm_buffer out;            /* header and chunk on their way; for a memory writer everything */
    size_t chunk_start;       /* of the chunk being built, in `out` */
    sm_buffer meta;           /* a pending JSON object each, with its length in front */
    sm_buffer strings;        /* pending: uvarint length, bytes */
    uint64_t strings_total;   /* with string 0 */
    uint64_t strings_written; /* the index that the first pending one has */
    sm_buffer index;          /* the chunks written: uvarint kind, uvarint distance from the one before */
    uint64_t index_count;
    uint64_t index_last; /* offset of the last one */
    pending tables[SM_TABLES];
    sm_crc32 crc;
    char *path;         /* owned; the file's, as the system told when it was opened. NULL: none is known */
    char *temporary;    /* owned; of a file that is to take another's place: its name until then. NULL: it has none */
    uint64_t renew_at;  /* size from which the file is worth writing anew */
    uint64_t of_tables; /* bytes of all chunks but those of a journal */
    bool owns;          /* fd is ours to close: nothing else has it yet */
    bool marked;        /* the header says that the file is behind */
    bool torn;          /* the file was cut: what follows would stand behind a hole */
};

/* Whether the descriptor still is the file that it was at the start (writer.c). */
bool sm_writer_holds(const sm_writer *w, struct stat *is);
/* Whether chunks of this kind are those of a journal, of which none replaces another (writer_renew.c). */
bool sm_writer_is_of_journal(uint32_t kind);
/* Finds the path, and from which size the file is worth writing anew; frees what belongs to that (writer_renew.c). */
void sm_writer_find_path(sm_writer *w);
void sm_writer_forget_path(sm_writer *w);

#endif
