/* A stream and its arrays share one reference-counted block (`source`). Arrays may outlive their stream, and a consumer
 * may move a child out of its parent, so each has a reference and is released by itself. */
#include "file/columns.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/alloc.h"

typedef struct {
    atomic_long references; /* references of the stream and of each array */
    void (*drop)(void *);
    void *keeper;
    int64_t rows;
    size_t count;
    int taken;                /* the batch was returned */
    sm_arrow_column column[]; /* owns the names */
} source;

typedef struct {
    source *from; /* a counted reference */
    const void *buffers[3];
    struct ArrowArray **children; /* owned */
} array_private;

static void source_release(source *s) {
    if (atomic_fetch_sub(&s->references, 1) != 1)
        return;
    void (*drop)(void *) = s->drop;
    void *keeper = s->keeper;
    for (size_t i = 0; i < s->count; i++)
        sm_free((void *)s->column[i].name);
    sm_free(s);
    if (drop)
        drop(keeper);
}

/* ---- schema ---- */

static void schema_release(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child && child->release)
            child->release(child);
        sm_free(child);
    }
    sm_free(schema->children);
    sm_free(schema->private_data); /* frees the name */
    schema->release = NULL;
}

static const char *format_text(char format) {
    return format == 'l' ? "l" : format == 'g' ? "g" : "U";
}

static int schema_leaf(struct ArrowSchema *schema, const char *name, const char *format) {
    char *copy = sm_copy_chars(name);
    if (copy == NULL)
        return -1;
    *schema = (struct ArrowSchema){.format = format, .name = copy, .release = schema_release, .private_data = copy};
    return 0;
}

int sm_arrow_schema(struct ArrowSchema *out, const sm_arrow_column *columns, size_t count) {
    struct ArrowSchema schema;
    if (schema_leaf(&schema, "", "+s") < 0)
        return -1;
    schema.children = sm_calloc(count, sizeof *schema.children);
    if (schema.children == NULL) {
        schema_release(&schema);
        return -1;
    }
    schema.n_children = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        schema.children[i] = sm_calloc(1, sizeof **schema.children);
        if (schema.children[i] == NULL ||
            schema_leaf(schema.children[i], columns[i].name, format_text(columns[i].format)) < 0) {
            schema_release(&schema);
            return -1;
        }
    }
    *out = schema;
    return 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    const source *s = stream->private_data;
    return sm_arrow_schema(out, s->column, s->count) < 0 ? ENOMEM : 0;
}

/* ---- arrays ---- */

static void array_release(struct ArrowArray *array) {
    array_private *private = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child && child->release)
            child->release(child);
        sm_free(child);
    }
    sm_free(private->children);
    source_release(private->from);
    sm_free(private);
    array->release = NULL;
}

static int array_begin(struct ArrowArray *array, source *s, int64_t buffers) {
    array_private *private = sm_calloc(1, sizeof *private);
    if (private == NULL)
        return -1;
    atomic_fetch_add(&s->references, 1);
    private->from = s;
    *array = (struct ArrowArray){
        .length = s->rows,
        .n_buffers = buffers,
        .buffers = private->buffers,
        .release = array_release,
        .private_data = private,
    };
    return 0;
}

static int array_leaf(struct ArrowArray *array, source *s, const sm_arrow_column *column) {
    if (array_begin(array, s, column->format == 'U' ? 3 : 2) < 0)
        return -1;
    array_private *private = array->private_data; /* buffers[0], the validity, stays NULL: no nulls */
    private->buffers[1] = column->format == 'U' ? column->offsets : column->values;
    private->buffers[2] = column->format == 'U' ? column->values : NULL;
    return 0;
}

static int make_batch(source *s, struct ArrowArray *out) {
    struct ArrowArray array;
    if (array_begin(&array, s, 1) < 0)
        return -1;
    array_private *private = array.private_data;
    array.children = private->children = sm_calloc(s->count, sizeof *array.children);
    if (array.children == NULL) {
        array_release(&array);
        return -1;
    }
    array.n_children = (int64_t)s->count;
    for (size_t i = 0; i < s->count; i++) {
        array.children[i] = sm_calloc(1, sizeof **array.children);
        if (array.children[i] == NULL || array_leaf(array.children[i], s, &s->column[i]) < 0) {
            array_release(&array);
            return -1;
        }
    }
    *out = array;
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    source *s = stream->private_data;
    if (s->taken) {
        *out = (struct ArrowArray){0};
        return 0;
    }
    if (make_batch(s, out) < 0)
        return ENOMEM;
    s->taken = 1;
    return 0;
}

/* ---- stream ---- */

const char *sm_arrow_last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "out of memory";
}

static void stream_release(struct ArrowArrayStream *stream) {
    source_release(stream->private_data);
    stream->release = NULL;
    stream->private_data = NULL;
}

/* Return a source with copies of the names and one reference, or NULL if out of memory. It has no `drop` yet. */
static source *source_new(const sm_arrow_column *columns, size_t count, int64_t rows) {
    source *s = sm_calloc(1, sizeof *s + count * sizeof *columns);
    if (s == NULL)
        return NULL;
    atomic_init(&s->references, 1);
    s->rows = rows;
    for (; s->count < count; s->count++) {
        s->column[s->count] = columns[s->count];
        s->column[s->count].name = sm_copy_chars(columns[s->count].name);
        if (s->column[s->count].name == NULL) {
            source_release(s);
            return NULL;
        }
    }
    return s;
}

int sm_arrow_batch(struct ArrowArray *out, const sm_arrow_column *columns, size_t count, int64_t rows,
                   void (*drop)(void *), void *keeper) {
    source *s = source_new(columns, count, rows);
    if (s == NULL)
        return -1;
    int made = make_batch(s, out);
    if (made == 0) {
        s->drop = drop;
        s->keeper = keeper;
    }
    source_release(s); /* the arrays have references of their own */
    return made;
}

int sm_arrow_stream(struct ArrowArrayStream *stream, const sm_arrow_column *columns, size_t count, int64_t rows,
                    void (*drop)(void *), void *keeper) {
    source *s = source_new(columns, count, rows);
    if (s == NULL)
        return -1;
    s->drop = drop;
    s->keeper = keeper;
    *stream = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = sm_arrow_last_error,
        .release = stream_release,
        .private_data = s,
    };
    return 0;
}
