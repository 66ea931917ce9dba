/* The fields of a writer, for writer*.c only. */
#pragma once

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
    size_t compacted; /* rows left by the last compaction */
    uint64_t taken;   /* rows so far */
    uint64_t ids;     /* the largest id + 1 */
} pending;

struct sm_writer {
    pthread_mutex_t lock;   /* guards what follows while chunks are built and sent */
    pthread_mutex_t taking; /* taken after `lock`; guards pending strings and rows, and `lost` */
    int fd;                 /* borrowed; -1 for memory */
    dev_t device;           /* device of the file that fd was at the start */
    ino_t inode;
    off_t base;               /* offset of our header in the file; -1 for a pipe */
    int error;                /* first errno; sticky */
    bool stuck;               /* the last flush failed: only the next flush retries */
    bool held;                /* rows are not written until a flush; set before other threads exist */
    bool building;            /* chunks are built in `out` and not sent */
    uint64_t lost;            /* rows and strings not added */
    uint64_t written;         /* bytes of whole chunks in the file */
    size_t out_sent;          /* bytes of `out` that a pipe has accepted */
    sm_buffer out;            /* pending header and chunk, or everything if there is no file */
    size_t chunk_start;       /* start of the chunk being built, in `out` */
    sm_buffer meta;           /* pending JSON objects, each with its uvarint length in front */
    sm_buffer strings;        /* pending strings: uvarint length, bytes */
    uint64_t strings_total;   /* number of strings, with string 0 */
    uint64_t strings_written; /* index of the first pending string */
    sm_buffer index;          /* written chunks: uvarint kind, uvarint distance from the previous */
    uint64_t index_count;
    uint64_t index_last; /* offset of the last chunk in it */
    pending tables[SM_TABLES];
    sm_crc32 crc;
    char *path;         /* owned; the file's path when it was opened, or NULL */
    char *temporary;    /* owned; present name of a file that will replace another, or NULL */
    uint64_t renew_at;  /* size from which the file is worth rewriting */
    uint64_t of_tables; /* bytes of all chunks except a journal's */
    bool owns;          /* fd must be closed by us */
    bool marked;        /* the header has SM_FILE_BEHIND */
    bool torn;          /* the file was cut: further chunks would follow a hole */
};

/* Return true if the descriptor still is the file that it was at the start (writer.c). */
bool sm_writer_holds(const sm_writer *w, struct stat *is);

/* writer_path.c */
enum { SM_NAME_ROOM = 64 }; /* longest name of a descriptor, and of a temporary file without its folder */
/* Set the path and the size from which the file is worth rewriting; free the path, and close a file of our own. */
void sm_writer_find_path(sm_writer *w);
void sm_writer_forget_path(sm_writer *w);
/* Set the size from which the file is worth rewriting, by its present size. */
void sm_writer_plan_renewal(sm_writer *w, uint64_t size);
/* Set the name under which the system shows what a descriptor refers to. */
void sm_writer_link_of(int fd, char name[SM_NAME_ROOM]);
