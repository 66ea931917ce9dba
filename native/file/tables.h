/* The tables and columns of a recording: one list for the writer, the reader, the module and the docs' test.
 *
 * X(TABLE, COLUMN, "name", TYPE): the position is the column's number in the file, so within a version columns are
 * only appended. INT is int64, COUNT a non-negative int64 (a reader replaces a negative one by 0), STR an int64
 * index into the string table, REAL a finite, non-negative float64. */
#pragma once

#include <stdint.h>

#define SM_COLUMNS_PROCESSES(X)                                                                                        \
    X(PROCESSES, ID, "id", COUNT)                                                                                      \
    X(PROCESSES, PID, "pid", INT)                                                                                      \
    X(PROCESSES, PPID, "ppid", INT)                                                                                    \
    X(PROCESSES, HOST, "host", STR)                                                                                    \
    X(PROCESSES, ARGV, "argv", STR) /* a JSON list */                                                                  \
    X(PROCESSES, INTERPRETER, "interpreter", STR)                                                                      \
    X(PROCESSES, START_NS, "start_ns", INT) /* Unix time */                                                            \
    X(PROCESSES, END_NS, "end_ns", INT)                                                                                \
    X(PROCESSES, EXIT, "exit", STR)                                                                                    \
    X(PROCESSES, CLOCK, "clock", STR)                                                                                  \
    X(PROCESSES, SOURCE, "source", STR)                                                                                \
    X(PROCESSES, PYTHON_INSIDE, "python_inside", REAL)   /* ns of a counted entry, in the callee's time */             \
    X(PROCESSES, PYTHON_OUTSIDE, "python_outside", REAL) /* the cost of an entry in the caller's time */               \
    X(PROCESSES, C_INSIDE, "c_inside", REAL)                                                                           \
    X(PROCESSES, C_OUTSIDE, "c_outside", REAL)                                                                         \
    X(PROCESSES, RESUME_INSIDE, "resume_inside", REAL)                                                                 \
    X(PROCESSES, RESUME_OUTSIDE, "resume_outside", REAL)                                                               \
    X(PROCESSES, PIECE_NS, "piece_ns", REAL)            /* cost of the probes in each exact piece */                   \
    X(PROCESSES, CLOCK_NS, "clock_ns", REAL)            /* cost of one reading */                                      \
    X(PROCESSES, COST_ERROR, "cost_error", REAL)        /* relative half-width of all these costs */                   \
    X(PROCESSES, WAITS, "waits", STR)                   /* how waiting was distinguished; "" if it was not */          \
    X(PROCESSES, BOOT, "boot", STR)                     /* identity of the system's boot; "" if unknown */             \
    X(PROCESSES, BOOT_NS, "boot_ns", COUNT)             /* from the boot to start_ns; 0 if unknown */                  \
    X(PROCESSES, UNIX_BOUND_NS, "unix_bound_ns", COUNT) /* error bound of start_ns; 0 if unknown */                    \
    X(PROCESSES, DEEP_NS, "deep_ns", REAL)              /* more for a counted entry with deep calls below it */        \
    X(PROCESSES, TIME_BOUND_NS, "time_bound_ns", COUNT) /* most error of start_ns and the time since; 0 if unknown */  \
    X(PROCESSES, STOP_NS, "stop_ns", COUNT)             /* time of threads that waited while the world was stopped */

#define SM_COLUMNS_THREADS(X)                                                                                          \
    X(THREADS, ID, "id", COUNT)                                                                                        \
    X(THREADS, PROCESS, "process", COUNT)                                                                              \
    X(THREADS, NATIVE_ID, "native_id", INT)                                                                            \
    X(THREADS, NAME, "name", STR)                                                                                      \
    X(THREADS, START_NS, "start_ns", INT)                                                                              \
    X(THREADS, END_NS, "end_ns", INT)                                                                                  \
    X(THREADS, WALL_NS, "wall_ns", INT)                                                                                \
    X(THREADS, CPU_NS, "cpu_ns", INT) /* -1 if unknown */                                                              \
    X(THREADS, MAIN, "main", INT)                                                                                      \
    X(THREADS, REST_NS, "rest_ns", COUNT) /* running time outside of exact pieces */                                   \
    X(THREADS, FOLDED, "folded", COUNT)   /* number of threads that share this row, or 0 */

#define SM_COLUMNS_FUNCTIONS(X)                                                                                        \
    X(FUNCTIONS, ID, "id", COUNT)                                                                                      \
    X(FUNCTIONS, KIND, "kind", COUNT) /* 0 Python, 1 C, 2 synthetic */                                                 \
    X(FUNCTIONS, MODULE, "module", STR)                                                                                \
    X(FUNCTIONS, QUALNAME, "qualname", STR)                                                                            \
    X(FUNCTIONS, FILE, "file", STR)                                                                                    \
    X(FUNCTIONS, LINE, "line", INT)                                                                                    \
    X(FUNCTIONS, FLAGS, "flags", COUNT) /* 1 generator, 2 coroutine, 4 async generator, 8 disabled C call sites */     \
    X(FUNCTIONS, CODE_BYTES, "code_bytes", COUNT) /* size of its instructions; 0 if unknown */

/* The sampled times of nodes and lines. Running and waiting times are disjoint. */
#define SM_COLUMNS_OF_TIMES(X, TABLE)                                                                                  \
    X(TABLE, SAMPLED, "sampled", COUNT)       /* looks of the sampler that found it */                                 \
    X(TABLE, SAMPLED_NS, "sampled_ns", COUNT) /* running time by these looks */                                        \
    X(TABLE, SAMPLED_SQ, "sampled_sq", REAL)  /* sum of the squares of the looks' times, ns squared */                 \
    X(TABLE, AWAITS, "awaits", COUNT)                                                                                  \
    X(TABLE, AWAIT_NS, "await_ns", COUNT)                                                                              \
    X(TABLE, WAIT_NS, "wait_ns", COUNT)   /* time off the CPU */                                                       \
    X(TABLE, WAIT_SQ, "wait_sq", REAL)    /* variance of the part that looks found, ns squared */                      \
    X(TABLE, READY_NS, "ready_ns", COUNT) /* part of wait_ns: ready, without a processor */                            \
    X(TABLE, LOCK_NS, "lock_ns", COUNT)   /* part of wait_ns: for a lock of the interpreter */

#define SM_COLUMNS_NODES(X)                                                                                            \
    X(NODES, ID, "id", COUNT)                                                                                          \
    X(NODES, PARENT, "parent", INT) /* -1 for a root of its thread */                                                  \
    X(NODES, THREAD, "thread", COUNT)                                                                                  \
    X(NODES, FUNCTION, "function", COUNT)                                                                              \
    X(NODES, CALLS, "calls", COUNT)                                                                                    \
    X(NODES, RESUMES, "resumes", COUNT)                                                                                \
    X(NODES, EXCEPTIONS, "exceptions", COUNT)                                                                          \
    X(NODES, FLAGS, "flags", COUNT)     /* 1 lower bound, 2 folded, 4 ran before the start, 8 still ran at the end */  \
    X(NODES, ENTERED, "entered", COUNT) /* calls and resumes at which an exact piece began */                          \
    X(NODES, TIMED, "timed", COUNT)     /* exact pieces */                                                             \
    X(NODES, TIMED_NS, "timed_ns", COUNT) /* time of these pieces, with the probes' piece_ns in each */                \
    SM_COLUMNS_OF_TIMES(X, NODES)                                                                                      \
    X(NODES, COMPARED_NS, "compared_ns", COUNT) /* running time by looks that saw all threads */                       \
    X(NODES, BESIDE_NS, "beside_ns", COUNT)     /* running time of other threads meanwhile */                          \
    X(NODES, OWN_SQ, "own_sq", REAL)            /* in a sum: variance of the own running time, ns squared */           \
    X(NODES, SHARED_NS, "shared_ns", REAL)      /* in a sum: error that nodes share, a 95 % half-width */

#define SM_COLUMNS_LOSSES(X)                                                                                           \
    X(LOSSES, ID, "id", COUNT)                                                                                         \
    X(LOSSES, KIND, "kind", STR)                                                                                       \
    X(LOSSES, COUNT, "count", COUNT)                                                                                   \
    X(LOSSES, THREAD, "thread", INT) /* -1 for all */                                                                  \
    X(LOSSES, DETAIL, "detail", STR)

/* A line of a function: its coverage, and its times in linetimes. */
#define SM_COLUMNS_LINES(X)                                                                                            \
    X(LINES, ID, "id", COUNT)                                                                                          \
    X(LINES, FUNCTION, "function", COUNT)                                                                              \
    X(LINES, LINE, "line", INT)                                                                                        \
    X(LINES, HITS, "hits", COUNT)                                                                                      \
    X(LINES, FLAGS, "flags", COUNT)        /* 1 hits only mean that it ran */                                          \
    X(LINES, INNER_NS, "inner_ns", REAL)   /* in callees, without the probes' cost */                                  \
    X(LINES, INNER_VAR, "inner_var", REAL) /* sum of the squares of the looks' times, ns squared */                    \
    SM_COLUMNS_OF_TIMES(X, LINES)

/* A step from a line to another, also along a branch. -N is an entry or exit of the code that begins at line N. */
#define SM_COLUMNS_ARCS(X)                                                                                             \
    X(ARCS, ID, "id", COUNT)                                                                                           \
    X(ARCS, FUNCTION, "function", COUNT)                                                                               \
    X(ARCS, FROM_LINE, "from_line", INT)                                                                               \
    X(ARCS, TO_LINE, "to_line", INT)                                                                                   \
    X(ARCS, HITS, "hits", COUNT)                                                                                       \
    X(ARCS, FLAGS, "flags", COUNT) /* 1 as in lines */

/* A conditional jump and the location of its condition, in columns of UTF-8 from 0. */
#define SM_COLUMNS_BRANCHES(X)                                                                                         \
    X(BRANCHES, ID, "id", COUNT)                                                                                       \
    X(BRANCHES, FUNCTION, "function", COUNT)                                                                           \
    X(BRANCHES, OFFSET, "offset", COUNT) /* in bytes of the code */                                                    \
    X(BRANCHES, KIND, "kind", COUNT)     /* jumps if: 0 false, 1 true, 2 None, 3 not None, 4 exhausted, 5 other */     \
    X(BRANCHES, LINE, "line", INT)                                                                                     \
    X(BRANCHES, COLUMN, "column", INT) /* -1 if unknown */                                                             \
    X(BRANCHES, END_LINE, "end_line", INT)                                                                             \
    X(BRANCHES, END_COLUMN, "end_column", INT)                                                                         \
    X(BRANCHES, FELL, "fell", COUNT)     /* times that it did not jump */                                              \
    X(BRANCHES, JUMPED, "jumped", COUNT) /* times that it jumped */                                                    \
    X(BRANCHES, FLAGS, "flags", COUNT)   /* 1 as in lines, 2 fell or jumped may be incomplete */

#define SM_COLUMNS_CONTEXTS(X)                                                                                         \
    X(CONTEXTS, ID, "id", COUNT)                                                                                       \
    X(CONTEXTS, NAME, "name", STR)

/* Places that ran in a context: row base + i of lines (kind 0) or of arcs (kind 1), for every bit i of bits. */
#define SM_COLUMNS_CONTEXT_HITS(X)                                                                                     \
    X(CONTEXT_HITS, ID, "id", COUNT)                                                                                   \
    X(CONTEXT_HITS, CONTEXT, "context", COUNT)                                                                         \
    X(CONTEXT_HITS, KIND, "kind", COUNT)                                                                               \
    X(CONTEXT_HITS, BASE, "base", COUNT) /* a multiple of 64 */                                                        \
    X(CONTEXT_HITS, BITS, "bits", INT)   /* 64 of them */

#define SM_COLUMNS_INSTRUCTIONS(X)                                                                                     \
    X(INSTRUCTIONS, ID, "id", COUNT)                                                                                   \
    X(INSTRUCTIONS, FUNCTION, "function", COUNT)                                                                       \
    X(INSTRUCTIONS, OFFSET, "offset", COUNT) /* in bytes of the code */                                                \
    X(INSTRUCTIONS, LINE, "line", INT)       /* 0 if there is none */                                                  \
    X(INSTRUCTIONS, TEXT, "text", STR)       /* disassembled */                                                        \
    X(INSTRUCTIONS, HITS, "hits", COUNT)

/* The source files at the end of the recording. */
#define SM_COLUMNS_SOURCES(X)                                                                                          \
    X(SOURCES, ID, "id", COUNT)                                                                                        \
    X(SOURCES, FILE, "file", STR) /* same values as in functions */                                                    \
    X(SOURCES, PATH, "path", STR) /* absolute; "" if it is no file */                                                  \
    X(SOURCES, SIZE, "size", INT) /* bytes; -1 if it cannot be read */                                                 \
    X(SOURCES, MTIME_NS, "mtime_ns", INT)                                                                              \
    X(SOURCES, CRC, "crc", INT) /* CRC-32 of its content; -1 if unknown */

/* Python types whose objects were created or destroyed. Counts include objects without rows in OBJECTS. */
#define SM_COLUMNS_TYPES(X)                                                                                            \
    X(TYPES, ID, "id", COUNT)                                                                                          \
    X(TYPES, MODULE, "module", STR)                                                                                    \
    X(TYPES, NAME, "name", STR)                 /* qualified, without the module */                                    \
    X(TYPES, FLAGS, "flags", COUNT)             /* see SM_TYPE_FLAG_ */                                                \
    X(TYPES, SIZE, "size", COUNT)               /* bytes of every object, headers included */                          \
    X(TYPES, ITEM_SIZE, "item_size", COUNT)     /* bytes of each item in the object's own block */                     \
    X(TYPES, BORN, "born", COUNT)               /* created while recorded */                                           \
    X(TYPES, DIED, "died", COUNT)               /* the part of these that was destroyed */                             \
    X(TYPES, DIED_BY_GC, "died_by_gc", COUNT)   /* the part of these that the cycle collector destroyed */             \
    X(TYPES, LIVE, "live", COUNT)               /* objects that were created and are not known to be destroyed */      \
    X(TYPES, PEAK, "peak", COUNT)               /* maximum alive at once */                                            \
    X(TYPES, BEFORE, "before", COUNT)           /* destroyed, but created before the recording */                      \
    X(TYPES, UNSEEN, "unseen", COUNT)           /* missed deaths: another object was created at the address */         \
    X(TYPES, RESURRECTED, "resurrected", COUNT) /* destroyed twice, because they were resurrected */                   \
    X(TYPES, ITEM_BYTES, "item_bytes", COUNT)   /* bytes of the items of destroyed objects */

/* Objects of one type by the line, and by the call path if it was recorded, that created them. */
#define SM_COLUMNS_OBJECTS(X)                                                                                          \
    X(OBJECTS, ID, "id", COUNT)                                                                                        \
    X(OBJECTS, TYPE, "type", COUNT)                                                                                    \
    X(OBJECTS, FUNCTION, "function", INT) /* -1 without a Python function */                                           \
    X(OBJECTS, LINE, "line", INT)         /* 0 if unknown */                                                           \
    X(OBJECTS, NODE, "node", INT)         /* -1 if the call path was not recorded */                                   \
    X(OBJECTS, FLAGS, "flags", COUNT)     /* see SM_OBJECT_FLAG_ */                                                    \
    X(OBJECTS, BORN, "born", COUNT)                                                                                    \
    X(OBJECTS, DIED, "died", COUNT)                                                                                    \
    X(OBJECTS, DIED_BY_GC, "died_by_gc", COUNT)                                                                        \
    X(OBJECTS, LIVE, "live", COUNT)                                                                                    \
    X(OBJECTS, PEAK, "peak", COUNT)                                                                                    \
    X(OBJECTS, UNSEEN, "unseen", COUNT)                                                                                \
    X(OBJECTS, ITEM_BYTES, "item_bytes", COUNT) /* bytes of the items of destroyed objects */                          \
    X(OBJECTS, SPAN_BORN, "span_born", COUNT)   /* created inside a span */                                            \
    X(OBJECTS, SPAN_DIED, "span_died", COUNT)   /* the part of these destroyed inside the same span */                 \
    X(OBJECTS, SPAN_LIVE, "span_live", COUNT)   /* the part of these alive at the end of the recording */

/* Lifetimes of objects. Bucket 0 is 0, bucket b from 4^(b-1) to 4^b - 1. */
#define SM_COLUMNS_LIFETIMES(X)                                                                                        \
    X(LIFETIMES, ID, "id", COUNT)                                                                                      \
    X(LIFETIMES, OBJECT, "object", COUNT)                                                                              \
    X(LIFETIMES, UNIT, "unit", COUNT) /* 0 objects created meanwhile, 1 ns */                                          \
    X(LIFETIMES, BUCKET, "bucket", COUNT)                                                                              \
    X(LIFETIMES, COUNT, "count", COUNT)

/* The numbers of objects that were created and destroyed until a time. */
#define SM_COLUMNS_OBJECT_TIMES(X)                                                                                     \
    X(OBJECT_TIMES, ID, "id", COUNT)                                                                                   \
    X(OBJECT_TIMES, TIME_NS, "time_ns", INT) /* Unix time */                                                           \
    X(OBJECT_TIMES, BORN, "born", COUNT)                                                                               \
    X(OBJECT_TIMES, DIED, "died", COUNT) /* destroyed objects that were created while recorded */

/* Calls of chosen functions, from the first to the last instruction. If there are very many, a row has several in
 * succession. */
#define SM_COLUMNS_OBJECT_SPANS(X)                                                                                     \
    X(OBJECT_SPANS, ID, "id", COUNT)                                                                                   \
    X(OBJECT_SPANS, FUNCTION, "function", INT) /* function of the first call; -1 if unknown */                         \
    X(OBJECT_SPANS, FIRST, "first", COUNT)     /* number of the first call among all calls, from 0 */                  \
    X(OBJECT_SPANS, CALLS, "calls", COUNT)     /* 0 if withdrawn */                                                    \
    X(OBJECT_SPANS, START_NS, "start_ns", INT) /* Unix time */                                                         \
    X(OBJECT_SPANS, END_NS, "end_ns", INT)     /* 0 if it still ran */                                                 \
    X(OBJECT_SPANS, BORN, "born", COUNT)                                                                               \
    X(OBJECT_SPANS, DIED, "died", COUNT) /* the part of these destroyed inside the call */                             \
    X(OBJECT_SPANS, LIVE, "live", COUNT) /* the part of these alive at the end of the recording or its last flush */   \
    X(OBJECT_SPANS, PROCESS, "process", COUNT)

/* Objects created in a span and alive at the end of the recording, or at its last flush. */
#define SM_COLUMNS_OBJECT_SURVIVORS(X)                                                                                 \
    X(OBJECT_SURVIVORS, ID, "id", COUNT)                                                                               \
    X(OBJECT_SURVIVORS, SPAN, "span", COUNT)                                                                           \
    X(OBJECT_SURVIVORS, OBJECT, "object", COUNT)                                                                       \
    X(OBJECT_SURVIVORS, COUNT, "count", COUNT) /* 0 if withdrawn */

/* Holders of survivors: a tree for each chosen row of objects, from the survivors to the roots. */
#define SM_COLUMNS_HOLDERS(X)                                                                                          \
    X(HOLDERS, ID, "id", COUNT)                                                                                        \
    X(HOLDERS, OBJECT, "object", COUNT)                                                                                \
    X(HOLDERS, PARENT, "parent", INT) /* the holder that this one holds; -1 for the survivors */                       \
    X(HOLDERS, FLAGS, "flags", COUNT) /* 1 root, 2 already on the path, 4 too far, 8 no holder found */                \
    X(HOLDERS, COUNT, "count", COUNT) /* survivors held in this way */                                                 \
    X(HOLDERS, ASKED, "asked", COUNT) /* survivors of this row of objects that were searched */                        \
    X(HOLDERS, HOLDER, "holder", STR) /* the holder: a type, "module app", "frame app:main" */                         \
    X(HOLDERS, BY, "by", STR)         /* attribute, key or variable; "" if unknown */

#define SM_COLUMNS_MARKS(X)                                                                                            \
    X(MARKS, ID, "id", COUNT)                                                                                          \
    X(MARKS, NAME, "name", STR)                                                                                        \
    X(MARKS, TIME_NS, "time_ns", INT)                                                                                  \
    X(MARKS, BORN, "born", COUNT) /* objects until then */                                                             \
    X(MARKS, PROCESS, "process", COUNT)

/* Y(TABLE, "name"): the position is the table's number in the file. Tables refer only to earlier ones. */
#define SM_TABLE_LIST(Y)                                                                                               \
    Y(PROCESSES, "processes")                                                                                          \
    Y(THREADS, "threads")                                                                                              \
    Y(FUNCTIONS, "functions")                                                                                          \
    Y(NODES, "nodes")                                                                                                  \
    Y(LOSSES, "losses")                                                                                                \
    Y(LINES, "lines")                                                                                                  \
    Y(ARCS, "arcs")                                                                                                    \
    Y(BRANCHES, "branches")                                                                                            \
    Y(CONTEXTS, "contexts")                                                                                            \
    Y(CONTEXT_HITS, "context_hits")                                                                                    \
    Y(INSTRUCTIONS, "instructions")                                                                                    \
    Y(SOURCES, "sources")                                                                                              \
    Y(TYPES, "types")                                                                                                  \
    Y(OBJECTS, "objects")                                                                                              \
    Y(LIFETIMES, "lifetimes")                                                                                          \
    Y(OBJECT_TIMES, "object_times")                                                                                    \
    Y(OBJECT_SPANS, "object_spans")                                                                                    \
    Y(OBJECT_SURVIVORS, "object_survivors")                                                                            \
    Y(HOLDERS, "holders")                                                                                              \
    Y(MARKS, "marks")

typedef enum {
#define SM_TABLE_NUMBER(TABLE, name) SM_##TABLE,
    SM_TABLE_LIST(SM_TABLE_NUMBER)
#undef SM_TABLE_NUMBER
        SM_TABLES
} sm_table_kind;

/* SM_NODES_ID and so on, and the number of columns of each table. */
#define SM_COLUMN_NUMBER(TABLE, COLUMN, name, TYPE) SM_##TABLE##_##COLUMN,
#define SM_COLUMN_NUMBERS(TABLE, name) enum { SM_COLUMNS_##TABLE(SM_COLUMN_NUMBER) SM_##TABLE##_COLUMNS };
SM_TABLE_LIST(SM_COLUMN_NUMBERS)
#undef SM_COLUMN_NUMBERS
#undef SM_COLUMN_NUMBER

enum { /* types.flags */
       SM_TYPE_FLAG_HEAP = 1,
       SM_TYPE_FLAG_GC = 2,       /* its objects may be part of cycles */
       SM_TYPE_FLAG_VARIABLE = 4, /* has items in its own block */
       SM_TYPE_FLAG_OUTSIDE = 8,  /* has memory elsewhere, which size excludes */
       SM_TYPE_FLAG_FINALIZER = 16,
       SM_TYPE_FLAG_ESTIMATED = 32, /* died_by_gc is an estimate */
       SM_TYPE_FLAG_AT_MOST = 64,   /* peak is an upper bound, after a merge or a subtraction */
};
enum {                               /* objects.flags */
       SM_OBJECT_FLAG_ESTIMATED = 1, /* died, died_by_gc, live, peak are estimates */
       SM_OBJECT_FLAG_AT_MOST = 2,   /* same meaning as in types */
};
enum { SM_LIFETIMES_LAST_BUCKET = 32 }; /* 2^62 to 2^64 - 1 */
#define SM_MAX_COLUMNS 40               /* an upper bound, for sm_writer_row's arrays */

typedef enum { SM_TYPE_INT, SM_TYPE_COUNT, SM_TYPE_STR, SM_TYPE_REAL } sm_column_type;

typedef struct {
    const char *name;
    sm_column_type type;
} sm_column;

typedef struct {
    const char *name;
    int columns;
    const sm_column *column; /* `columns` of them, borrowed from constant data; column 0 is `id` */
} sm_table;

extern const sm_table sm_tables[SM_TABLES];

/* Kinds of chunks: four letters, which a hex dump shows. */
#define SM_CHUNK(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define SM_CHUNK_META SM_CHUNK('M', 'E', 'T', 'A')
#define SM_CHUNK_STRS SM_CHUNK('S', 'T', 'R', 'S')
#define SM_CHUNK_TABL SM_CHUNK('T', 'A', 'B', 'L')
#define SM_CHUNK_END SM_CHUNK('E', 'N', 'D', ' ')
#define SM_CHUNK_JRNL SM_CHUNK('J', 'R', 'N', 'L') /* a piece of a journal */
#define SM_CHUNK_LEVL SM_CHUNK('L', 'E', 'V', 'L') /* a sheet of the levels of a journal */
#define SM_CHUNK_LONG SM_CHUNK('L', 'O', 'N', 'G') /* the longest calls of functions */
#define SM_CHUNK_HEAD SM_CHUNK('H', 'E', 'A', 'D') /* copies of the heads of the pieces before it */
#define SM_CHUNK_SUMS SM_CHUNK('S', 'U', 'M', 'S') /* a recording that sums up this one, skipped by the reader here */

/* The kinds of a journal's chunks. Return the number of a kind, or -1 if it is another. */
enum { SM_JOURNAL_PIECES, SM_JOURNAL_LEVELS, SM_JOURNAL_LONGEST, SM_JOURNAL_HEADS, SM_JOURNAL_KINDS };
static inline int sm_chunk_of_journal(uint32_t kind) {
    static const uint32_t kinds[SM_JOURNAL_KINDS] = {SM_CHUNK_JRNL, SM_CHUNK_LEVL, SM_CHUNK_LONG, SM_CHUNK_HEAD};
    int number = SM_JOURNAL_KINDS - 1;
    while (number >= 0 && kinds[number] != kind)
        number--;
    return number;
}

/* How a column is stored. SM_ENCODING_RUNS is added to one of the others where runs of zeros are stored as numbers. */
enum { SM_ENCODING_UVARINT = 0, SM_ENCODING_DELTA = 1, SM_ENCODING_F64 = 2, SM_ENCODING_RUNS = 4 };

#define SM_FILE_MAGIC "\x8fseismo\n" /* 8 bytes; the first is not ASCII, the last shows a text-mode copy */
#define SM_FILE_VERSION 2
#define SM_FILE_FLAGS_AT 10
#define SM_FILE_BEHIND 1   /* flag: a write failed, so data is missing */
#define SM_FILE_HEADER 16  /* bytes: magic, u16 version, u16 flags, u32 reserved */
#define SM_CHUNK_HEADER 12 /* bytes: u32 payload length, u32 kind, u32 crc32 of kind and payload */
