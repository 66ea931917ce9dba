/* The tables and columns of a recording: the one list that the writer, the reader, the module and the docs' test share.
 *
 * Each entry is X(TABLE, COLUMN, "name", TYPE). The position in its list is the column's number in the file: within a
 * version append only, never reorder, never reuse. docs/format.md names the same columns; tests/native/file holds the
 * two together. Types: INT is int64, COUNT an int64 that is not negative (a reader takes a negative one for damage and
 * makes it 0), STR an int64 index into the string table, REAL a float64 that is finite and not negative. */
#ifndef SM_FILE_TABLES_H
#define SM_FILE_TABLES_H

#define SM_COLUMNS_PROCESSES(X)                                                                                        \
    X(PROCESSES, ID, "id", COUNT)                                                                                      \
    X(PROCESSES, PID, "pid", INT)                                                                                      \
    X(PROCESSES, PPID, "ppid", INT)                                                                                    \
    X(PROCESSES, HOST, "host", STR)                                                                                    \
    X(PROCESSES, ARGV, "argv", STR) /* a JSON list */                                                                  \
    X(PROCESSES, INTERPRETER, "interpreter", STR)                                                                      \
    X(PROCESSES, START_NS, "start_ns", INT) /* unix epoch */                                                           \
    X(PROCESSES, END_NS, "end_ns", INT)                                                                                \
    X(PROCESSES, EXIT, "exit", STR)                                                                                    \
    X(PROCESSES, CLOCK, "clock", STR)                                                                                  \
    X(PROCESSES, SOURCE, "source", STR)                                                                                \
    X(PROCESSES, PYTHON_INSIDE, "python_inside", REAL) /* ns of an entry that is only counted, in the callee's time */ \
    X(PROCESSES, PYTHON_OUTSIDE, "python_outside", REAL) /* the same in the caller's */                                \
    X(PROCESSES, C_INSIDE, "c_inside", REAL)                                                                           \
    X(PROCESSES, C_OUTSIDE, "c_outside", REAL)                                                                         \
    X(PROCESSES, RESUME_INSIDE, "resume_inside", REAL)                                                                 \
    X(PROCESSES, RESUME_OUTSIDE, "resume_outside", REAL)                                                               \
    X(PROCESSES, PIECE_NS, "piece_ns", REAL)            /* of the probes, in each exact piece */                       \
    X(PROCESSES, CLOCK_NS, "clock_ns", REAL)            /* cost of one reading */                                      \
    X(PROCESSES, COST_ERROR, "cost_error", REAL)        /* relative half-width of all these costs */                   \
    X(PROCESSES, WAITS, "waits", STR)                   /* how waiting was told from running; "": it was not */        \
    X(PROCESSES, BOOT, "boot", STR)                     /* which start of the system it ran on; "": not known */       \
    X(PROCESSES, BOOT_NS, "boot_ns", COUNT)             /* from then to start_ns; 0: not known */                      \
    X(PROCESSES, UNIX_BOUND_NS, "unix_bound_ns", COUNT) /* that start_ns may be off by; 0: not known */                \
    X(PROCESSES, DEEP_NS, "deep_ns", REAL) /* of an entry that is only counted, more if calls below it went deep */

#define SM_COLUMNS_THREADS(X)                                                                                          \
    X(THREADS, ID, "id", COUNT)                                                                                        \
    X(THREADS, PROCESS, "process", COUNT)                                                                              \
    X(THREADS, NATIVE_ID, "native_id", INT)                                                                            \
    X(THREADS, NAME, "name", STR)                                                                                      \
    X(THREADS, START_NS, "start_ns", INT)                                                                              \
    X(THREADS, END_NS, "end_ns", INT)                                                                                  \
    X(THREADS, WALL_NS, "wall_ns", INT)                                                                                \
    X(THREADS, CPU_NS, "cpu_ns", INT) /* -1: unknown */                                                                \
    X(THREADS, MAIN, "main", INT)                                                                                      \
    X(THREADS, REST_NS, "rest_ns", COUNT) /* that it ran outside of exact pieces: looks may have found less */         \
    X(THREADS, FOLDED, "folded", COUNT)   /* 0: one thread; else how many share this row */

#define SM_COLUMNS_FUNCTIONS(X)                                                                                        \
    X(FUNCTIONS, ID, "id", COUNT)                                                                                      \
    X(FUNCTIONS, KIND, "kind", COUNT) /* 0 Python, 1 C, 2 synthetic */                                                 \
    X(FUNCTIONS, MODULE, "module", STR)                                                                                \
    X(FUNCTIONS, QUALNAME, "qualname", STR)                                                                            \
    X(FUNCTIONS, FILE, "file", STR)                                                                                    \
    X(FUNCTIONS, LINE, "line", INT)                                                                                    \
    X(FUNCTIONS, FLAGS, "flags", COUNT) /* 1 generator, 2 coroutine, 4 async generator, 8 C call sites switched off */ \
    X(FUNCTIONS, CODE_BYTES, "code_bytes", COUNT) /* of its instructions; 0: not known */

/* The sampled times of nodes and lines. Running and waiting are apart: neither holds the other. */
#define SM_COLUMNS_OF_TIMES(X, TABLE)                                                                                  \
    X(TABLE, SAMPLED, "sampled", COUNT)       /* looks of the sampler that found it */                                 \
    X(TABLE, SAMPLED_NS, "sampled_ns", COUNT) /* that it ran, by these looks */                                        \
    X(TABLE, SAMPLED_SQ, "sampled_sq", REAL)  /* sum of the squares of the looks' times, ns squared */                 \
    X(TABLE, AWAITS, "awaits", COUNT)                                                                                  \
    X(TABLE, AWAIT_NS, "await_ns", COUNT)                                                                              \
    X(TABLE, WAIT_NS, "wait_ns", COUNT)   /* off the CPU */                                                            \
    X(TABLE, WAIT_SQ, "wait_sq", REAL)    /* the variance of that as far as looks have found it, ns squared */         \
    X(TABLE, READY_NS, "ready_ns", COUNT) /* of wait_ns: could have run, and had no processor */                       \
    X(TABLE, LOCK_NS, "lock_ns", COUNT)   /* of wait_ns: waited for the interpreter's lock */

#define SM_COLUMNS_NODES(X)                                                                                            \
    X(NODES, ID, "id", COUNT)                                                                                          \
    X(NODES, PARENT, "parent", INT) /* -1: a root of its thread */                                                     \
    X(NODES, THREAD, "thread", COUNT)                                                                                  \
    X(NODES, FUNCTION, "function", COUNT)                                                                              \
    X(NODES, CALLS, "calls", COUNT)                                                                                    \
    X(NODES, RESUMES, "resumes", COUNT)                                                                                \
    X(NODES, EXCEPTIONS, "exceptions", COUNT)                                                                          \
    X(NODES, FLAGS, "flags", COUNT)     /* 1 lower bound, 2 folded, 4 ran before the start, 8 still ran at the end */  \
    X(NODES, ENTERED, "entered", COUNT) /* entries (calls and resumes) at which an exact piece began */                \
    X(NODES, TIMED, "timed", COUNT)     /* exact pieces */                                                             \
    X(NODES, TIMED_NS, "timed_ns", COUNT) /* that it ran in these, with the probes' piece_ns in each */                \
    SM_COLUMNS_OF_TIMES(X, NODES)

#define SM_COLUMNS_LOSSES(X)                                                                                           \
    X(LOSSES, ID, "id", COUNT)                                                                                         \
    X(LOSSES, KIND, "kind", STR)                                                                                       \
    X(LOSSES, COUNT, "count", COUNT)                                                                                   \
    X(LOSSES, THREAD, "thread", INT) /* -1: all */                                                                     \
    X(LOSSES, DETAIL, "detail", STR)

/* A line of a function: coverage tells that it ran, or how often; linetimes also how long. */
#define SM_COLUMNS_LINES(X)                                                                                            \
    X(LINES, ID, "id", COUNT)                                                                                          \
    X(LINES, FUNCTION, "function", COUNT)                                                                              \
    X(LINES, LINE, "line", INT)                                                                                        \
    X(LINES, HITS, "hits", COUNT)                                                                                      \
    X(LINES, FLAGS, "flags", COUNT)        /* 1 hits say only that it ran, not how often */                            \
    X(LINES, INNER_NS, "inner_ns", REAL)   /* in what it called, less the probes' cost */                              \
    X(LINES, INNER_VAR, "inner_var", REAL) /* sum of the squares of the looks' times, ns squared */                    \
    SM_COLUMNS_OF_TIMES(X, LINES)

/* A step from one line to another: of branches, those that were taken. -N: into or out of the code that begins at line
 * N. */
#define SM_COLUMNS_ARCS(X)                                                                                             \
    X(ARCS, ID, "id", COUNT)                                                                                           \
    X(ARCS, FUNCTION, "function", COUNT)                                                                               \
    X(ARCS, FROM_LINE, "from_line", INT)                                                                               \
    X(ARCS, TO_LINE, "to_line", INT)                                                                                   \
    X(ARCS, HITS, "hits", COUNT)                                                                                       \
    X(ARCS, FLAGS, "flags", COUNT) /* 1 as in lines */

/* A conditional jump of a function's code, with the place of what it decides by. Columns of text from 0, in UTF-8. */
#define SM_COLUMNS_BRANCHES(X)                                                                                         \
    X(BRANCHES, ID, "id", COUNT)                                                                                       \
    X(BRANCHES, FUNCTION, "function", COUNT)                                                                           \
    X(BRANCHES, OFFSET, "offset", COUNT) /* bytes into the code */                                                     \
    X(BRANCHES, KIND, "kind", COUNT)     /* jumps if: 0 false, 1 true, 2 None, 3 not None, 4 exhausted, 5 other */     \
    X(BRANCHES, LINE, "line", INT)                                                                                     \
    X(BRANCHES, COLUMN, "column", INT) /* -1: unknown */                                                               \
    X(BRANCHES, END_LINE, "end_line", INT)                                                                             \
    X(BRANCHES, END_COLUMN, "end_column", INT)                                                                         \
    X(BRANCHES, FELL, "fell", COUNT)     /* times that it did not jump */                                              \
    X(BRANCHES, JUMPED, "jumped", COUNT) /* times that it did */                                                       \
    X(BRANCHES, FLAGS, "flags", COUNT)   /* 1 as in lines, 2 fell or jumped may be missing: it could not be told */

#define SM_COLUMNS_CONTEXTS(X)                                                                                         \
    X(CONTEXTS, ID, "id", COUNT)                                                                                       \
    X(CONTEXTS, NAME, "name", STR)

/* What ran in a context: row base + i of lines (kind 0) or of arcs (kind 1), for every bit i of bits. */
#define SM_COLUMNS_CONTEXT_HITS(X)                                                                                     \
    X(CONTEXT_HITS, ID, "id", COUNT)                                                                                   \
    X(CONTEXT_HITS, CONTEXT, "context", COUNT)                                                                         \
    X(CONTEXT_HITS, KIND, "kind", COUNT)                                                                               \
    X(CONTEXT_HITS, BASE, "base", COUNT) /* a multiple of 64 */                                                        \
    X(CONTEXT_HITS, BITS, "bits", INT)   /* 64 of them */

#define SM_COLUMNS_INSTRUCTIONS(X)                                                                                     \
    X(INSTRUCTIONS, ID, "id", COUNT)                                                                                   \
    X(INSTRUCTIONS, FUNCTION, "function", COUNT)                                                                       \
    X(INSTRUCTIONS, OFFSET, "offset", COUNT) /* bytes into the code */                                                 \
    X(INSTRUCTIONS, LINE, "line", INT)       /* 0: none */                                                             \
    X(INSTRUCTIONS, TEXT, "text", STR)       /* disassembled */                                                        \
    X(INSTRUCTIONS, HITS, "hits", COUNT)

/* The source files as they were when the recording ended. */
#define SM_COLUMNS_SOURCES(X)                                                                                          \
    X(SOURCES, ID, "id", COUNT)                                                                                        \
    X(SOURCES, FILE, "file", STR) /* as in functions */                                                                \
    X(SOURCES, PATH, "path", STR) /* absolute; "": it is no file */                                                    \
    X(SOURCES, SIZE, "size", INT) /* bytes; -1: it cannot be read */                                                   \
    X(SOURCES, MTIME_NS, "mtime_ns", INT)                                                                              \
    X(SOURCES, CRC, "crc", INT) /* CRC-32 of its content; -1: unknown */

/* Python types whose objects were born or died. The counts are of all objects, whatever objects knows of them. */
#define SM_COLUMNS_TYPES(X)                                                                                            \
    X(TYPES, ID, "id", COUNT)                                                                                          \
    X(TYPES, MODULE, "module", STR)                                                                                    \
    X(TYPES, NAME, "name", STR)                 /* qualified, without the module */                                    \
    X(TYPES, FLAGS, "flags", COUNT)             /* see SM_TYPE_FLAG_ */                                                \
    X(TYPES, SIZE, "size", COUNT)               /* bytes that every object of it has, headers included */              \
    X(TYPES, ITEM_SIZE, "item_size", COUNT)     /* bytes of each item of one of variable size, in its own block */     \
    X(TYPES, BORN, "born", COUNT)               /* created while recorded */                                           \
    X(TYPES, DIED, "died", COUNT)               /* of those: destroyed */                                              \
    X(TYPES, DIED_BY_GC, "died_by_gc", COUNT)   /* of those: by the cycle collector */                                 \
    X(TYPES, LIVE, "live", COUNT)               /* of those born: not known to have died */                            \
    X(TYPES, PEAK, "peak", COUNT)               /* the most that were alive at once */                                 \
    X(TYPES, BEFORE, "before", COUNT)           /* destroyed, but their birth was not seen */                          \
    X(TYPES, UNSEEN, "unseen", COUNT)           /* died unseen: another object was born at the address */              \
    X(TYPES, RESURRECTED, "resurrected", COUNT) /* destroyed twice: the first time they lived on */                    \
    X(TYPES, ITEM_BYTES, "item_bytes", COUNT)   /* bytes of the items of those that died */

/* Objects of one type made by one line, and by one call path if the call tree was recorded alongside. */
#define SM_COLUMNS_OBJECTS(X)                                                                                          \
    X(OBJECTS, ID, "id", COUNT)                                                                                        \
    X(OBJECTS, TYPE, "type", COUNT)                                                                                    \
    X(OBJECTS, FUNCTION, "function", INT) /* -1: made by no Python function */                                         \
    X(OBJECTS, LINE, "line", INT)         /* 0: unknown */                                                             \
    X(OBJECTS, NODE, "node", INT)         /* -1: call paths were not recorded, or not this one */                      \
    X(OBJECTS, FLAGS, "flags", COUNT)     /* see SM_OBJECT_FLAG_ */                                                    \
    X(OBJECTS, BORN, "born", COUNT)                                                                                    \
    X(OBJECTS, DIED, "died", COUNT)                                                                                    \
    X(OBJECTS, DIED_BY_GC, "died_by_gc", COUNT)                                                                        \
    X(OBJECTS, LIVE, "live", COUNT)                                                                                    \
    X(OBJECTS, PEAK, "peak", COUNT)                                                                                    \
    X(OBJECTS, UNSEEN, "unseen", COUNT)                                                                                \
    X(OBJECTS, ITEM_BYTES, "item_bytes", COUNT) /* of those that died */                                               \
    X(OBJECTS, SPAN_BORN, "span_born", COUNT)   /* born inside a span */                                               \
    X(OBJECTS, SPAN_DIED, "span_died", COUNT)   /* of those: died inside the same span */                              \
    X(OBJECTS, SPAN_LIVE, "span_live", COUNT)   /* of those: alive at the end of the recording */

/* How long objects lived. Bucket 0 is 0, bucket b from 4^(b-1) to 4^b - 1. */
#define SM_COLUMNS_LIFETIMES(X)                                                                                        \
    X(LIFETIMES, ID, "id", COUNT)                                                                                      \
    X(LIFETIMES, OBJECT, "object", COUNT)                                                                              \
    X(LIFETIMES, UNIT, "unit", COUNT) /* 0 objects born meanwhile, 1 ns */                                             \
    X(LIFETIMES, BUCKET, "bucket", COUNT)                                                                              \
    X(LIFETIMES, COUNT, "count", COUNT)

/* The objects born and died until a time, of all types. */
#define SM_COLUMNS_OBJECT_TIMES(X)                                                                                     \
    X(OBJECT_TIMES, ID, "id", COUNT)                                                                                   \
    X(OBJECT_TIMES, TIME_NS, "time_ns", INT) /* Unix time */                                                           \
    X(OBJECT_TIMES, BORN, "born", COUNT)                                                                               \
    X(OBJECT_TIMES, DIED, "died", COUNT) /* of those born while recorded */

/* Calls of the functions that were asked for, from the first to the last instruction; when there are very many, a row
 * is several that followed each other. */
#define SM_COLUMNS_OBJECT_SPANS(X)                                                                                     \
    X(OBJECT_SPANS, ID, "id", COUNT)                                                                                   \
    X(OBJECT_SPANS, FUNCTION, "function", INT) /* of the first; -1: unknown */                                         \
    X(OBJECT_SPANS, FIRST, "first", COUNT)     /* its number among all calls, from 0 */                                \
    X(OBJECT_SPANS, CALLS, "calls", COUNT)     /* 0: taken back */                                                     \
    X(OBJECT_SPANS, START_NS, "start_ns", INT) /* Unix time */                                                         \
    X(OBJECT_SPANS, END_NS, "end_ns", INT)     /* 0: still ran */                                                      \
    X(OBJECT_SPANS, BORN, "born", COUNT)                                                                               \
    X(OBJECT_SPANS, DIED, "died", COUNT) /* of those, inside */                                                        \
    X(OBJECT_SPANS, LIVE, "live", COUNT) /* of those, alive at the end of the recording or its last flush */           \
    X(OBJECT_SPANS, PROCESS, "process", COUNT)

/* What was born in a span and was alive at the end of the recording, or at its last flush. */
#define SM_COLUMNS_OBJECT_SURVIVORS(X)                                                                                 \
    X(OBJECT_SURVIVORS, ID, "id", COUNT)                                                                               \
    X(OBJECT_SURVIVORS, SPAN, "span", COUNT)                                                                           \
    X(OBJECT_SURVIVORS, OBJECT, "object", COUNT)                                                                       \
    X(OBJECT_SURVIVORS, COUNT, "count", COUNT) /* 0: taken back */

/* Who holds survivors: a tree for each row of objects that was asked about, from the survivors to the roots. */
#define SM_COLUMNS_HOLDERS(X)                                                                                          \
    X(HOLDERS, ID, "id", COUNT)                                                                                        \
    X(HOLDERS, OBJECT, "object", COUNT)                                                                                \
    X(HOLDERS, PARENT, "parent", INT) /* the holder that this one holds; -1: the survivors themselves */               \
    X(HOLDERS, FLAGS, "flags", COUNT) /* 1 root, 2 on the path already, 4 too far to go on, 8 nobody was found */      \
    X(HOLDERS, COUNT, "count", COUNT) /* survivors that are held this way */                                           \
    X(HOLDERS, ASKED, "asked", COUNT) /* survivors of this row of objects that were asked about */                     \
    X(HOLDERS, HOLDER, "holder", STR) /* what holds: a type, "module app", "frame app:main" */                         \
    X(HOLDERS, BY, "by", STR)         /* by which attribute, key, variable; "": unknown */

#define SM_COLUMNS_MARKS(X)                                                                                            \
    X(MARKS, ID, "id", COUNT)                                                                                          \
    X(MARKS, NAME, "name", STR)                                                                                        \
    X(MARKS, TIME_NS, "time_ns", INT)                                                                                  \
    X(MARKS, BORN, "born", COUNT) /* objects until then */                                                             \
    X(MARKS, PROCESS, "process", COUNT)

/* Y(TABLE, "name"): the position is the table's number in the file. Tables refer only to tables before them. */
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

/* SM_NODES_ID and so on, and how many columns each table has. */
#define SM_COLUMN_NUMBER(TABLE, COLUMN, name, TYPE) SM_##TABLE##_##COLUMN,
#define SM_COLUMN_NUMBERS(TABLE, name) enum { SM_COLUMNS_##TABLE(SM_COLUMN_NUMBER) SM_##TABLE##_COLUMNS };
SM_TABLE_LIST(SM_COLUMN_NUMBERS)
#undef SM_COLUMN_NUMBERS
#undef SM_COLUMN_NUMBER

enum { /* types.flags */
       SM_TYPE_FLAG_HEAP = 1,
       SM_TYPE_FLAG_GC = 2,       /* its objects may be part of cycles */
       SM_TYPE_FLAG_VARIABLE = 4, /* has items in its own block */
       SM_TYPE_FLAG_OUTSIDE = 8,  /* keeps memory elsewhere, which size does not count */
       SM_TYPE_FLAG_FINALIZER = 16,
       SM_TYPE_FLAG_ESTIMATED = 32, /* died_by_gc is an estimate */
       SM_TYPE_FLAG_AT_MOST = 64,   /* no more than peak were alive at once; after a merge or a subtraction */
};
enum {                               /* objects.flags */
       SM_OBJECT_FLAG_ESTIMATED = 1, /* died, died_by_gc, live, peak are estimates */
       SM_OBJECT_FLAG_AT_MOST = 2,   /* as that of types */
};
enum { SM_LIFETIMES_LAST_BUCKET = 32 }; /* 2^62 to 2^64 - 1 */
#define SM_MAX_COLUMNS 40               /* no table has more; room for sm_writer_row's arrays */

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

extern const sm_table sm_tables[SM_TABLES]; /* tables.c */

/* Kinds of chunks: four letters, so that a hex dump can be read. */
#define SM_CHUNK(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define SM_CHUNK_META SM_CHUNK('M', 'E', 'T', 'A')
#define SM_CHUNK_STRS SM_CHUNK('S', 'T', 'R', 'S')
#define SM_CHUNK_TABL SM_CHUNK('T', 'A', 'B', 'L')
#define SM_CHUNK_LEVL SM_CHUNK('L', 'E', 'V', 'L') /* a sheet of its levels: native/journal */
#define SM_CHUNK_LONG SM_CHUNK('L', 'O', 'N', 'G') /* the longest calls of functions */
#define SM_CHUNK_HEAD SM_CHUNK('H', 'E', 'A', 'D') /* the heads of pieces before it, once more */
#define SM_CHUNK_JRNL SM_CHUNK('J', 'R', 'N', 'L') /* a piece of a journal: native/journal */
#define SM_CHUNK_END SM_CHUNK('E', 'N', 'D', ' ')

enum { SM_ENCODING_UVARINT = 0, SM_ENCODING_DELTA = 1, SM_ENCODING_F64 = 2 };

#define SM_FILE_MAGIC "\x8fseismo\n" /* 8 bytes; the first is no ASCII, the last shows a text-mode copy */
#define SM_FILE_VERSION 2
#define SM_FILE_FLAGS_AT 10
#define SM_FILE_BEHIND 1   /* flag: a write failed and what it was to write is missing */
#define SM_FILE_HEADER 16  /* bytes: magic, u16 version, u16 flags, u32 reserved */
#define SM_CHUNK_HEADER 12 /* bytes: u32 payload length, u32 kind, u32 crc32 of kind and payload */

#endif
