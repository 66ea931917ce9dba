/* Columns as an Arrow C stream of one record batch. No Python.h: a callback releases the caller's memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The Arrow C data and stream interfaces, as specified. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

typedef struct {
    const char *name;    /* copied */
    char format;         /* 'l' int64, 'g' float64, 'U' UTF-8 with 64-bit offsets */
    const void *values;  /* rows of 8 bytes; for 'U' the text */
    const void *offsets; /* for format 'U': rows + 1 offsets, int64 */
} sm_arrow_column;

/* Make a schema from the columns' names and formats. Return 0, or -1 if out of memory. */
int sm_arrow_schema(struct ArrowSchema *out, const sm_arrow_column *columns, size_t count);
const char *sm_arrow_last_error(struct ArrowArrayStream *stream); /* for streams that fail only without memory */
/* Make one record batch, for streams that make theirs on demand. See below. */
int sm_arrow_batch(struct ArrowArray *out, const sm_arrow_column *columns, size_t count, int64_t rows,
                   void (*drop)(void *), void *keeper);
/* Make a stream of one record batch of the columns. `drop` is called with `keeper` once the stream and all its
 * arrays are released, from any thread. Return 0, or -1 if out of memory, without calling it. */
int sm_arrow_stream(struct ArrowArrayStream *stream, const sm_arrow_column *columns, size_t count, int64_t rows,
                    void (*drop)(void *), void *keeper);
