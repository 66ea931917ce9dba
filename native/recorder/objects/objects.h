/* The objects recorder: births and deaths of objects, by type, or by type and the line that makes them.
 *
 * Shape. A *type* is a name with its facts (module, qualified name, size, flags): classes that are made again and again
 * are one type. A *site* is a type, a function, a line and, with call paths, a node of the call tree. A birth finds its
 * site by what is at hand, the type's address and that of the instruction that runs (sites.c); the *live
 * table* keeps for each object its site, its number among all births (its *serial*) and the span that it was born in
 * (live.c). A death takes it from there: site, age, whether it died in its span. By type only, there is no
 * live table, and an event is three additions.
 *
 * Nothing here makes a Python object, touches an exception or takes a lock: it runs inside the allocation of others.
 * What is rare (a new type, a new site, a shard that is full) allocates with the C library.
 *
 * Ownership and threads: all is changed with the GIL of the main interpreter. What moves or is put in order anew
 * (types, sites, times, spans, notes, the shards of the live table) changes with the engine's lock as well, which a
 * save holds: it reads counters while they go on. sm_objects_here belongs to its thread.
 *
 * This header is what other parts of the recorder see; events.h is the way of an event. */
#ifndef SM_RECORDER_OBJECTS_OBJECTS_H
#define SM_RECORDER_OBJECTS_OBJECTS_H

#include "base/interned.h"
#include "engine/engine.h"

#define SM_OBJECTS_SPAN_BITS 18   /* of a span's number in a live entry */
#define SM_OBJECTS_SITE_BITS 24   /* of a site's number */
#define SM_OBJECTS_SERIAL_BITS 40 /* of a birth's number */
#define SM_OBJECTS_SERIALS ((uint64_t)1 << SM_OBJECTS_SERIAL_BITS)
#define SM_OBJECTS_BUCKETS 16  /* of a histogram of ages */
#define SM_OBJECTS_NS_BUCKET 3 /* the first of times: shorter ones are in it, too; the last of both is open */
#define SM_OBJECTS_MARKS 4096  /* most that are kept of the times of births */

enum {                           /* sm_objects_type.special: what a death has to do more than count */
       SM_OBJECTS_IS_TYPE = 1,   /* its objects are types */
       SM_OBJECTS_HAS_ITEMS = 2, /* sizes to be added up */
       SM_OBJECTS_MAY_RESURRECT = 4,
};

/* Never moves, lives as long as the recording; first what an event touches. Guard: the GIL; a save reads counters
 * meanwhile, which only grow. */
typedef struct sm_objects_type {
    uint64_t born;
    uint64_t gone; /* of those: died, or died unseen */
    uint64_t peak; /* of born - gone */
    uint64_t died_by_gc;
    uint64_t before;     /* destroyed, but their birth was not seen */
    uint64_t item_bytes; /* of those that died */
    uint64_t untracked;  /* alive, but not in the live table: sampled out, or lost for want of memory */
    uint32_t id;         /* in the recording: dense, from 0 */
    uint8_t special;
    uint8_t items; /* how to find their number: sites.c */
    uint16_t item_size;

    uint64_t unseen;          /* of gone */
    uint64_t resurrected;     /* died twice */
    uint64_t size;            /* bytes */
    uint32_t flags;           /* SM_TYPE_FLAG_ */
    uint32_t collection;      /* by type only: the last in which one was born */
    uint64_t collection_born; /* how many of those there may still be */
    char *module, *name;      /* owned; UTF-8 (surrogatepass) */
    Py_ssize_t basic_size;    /* as the type object says */
    uint64_t saved;           /* the save's: what it was at the last */
} __attribute__((aligned(64))) sm_objects_type;

/* One cache line: what an event touches. Site 0 is unattributed: births that are not recorded. Guard: the GIL; a save
 * reads counters meanwhile; moved with the engine's lock as well. */
typedef struct {
    uint64_t born;
    uint64_t died, died_by_gc; /* weighted */
    uint64_t item_bytes;       /* weighted; of those that died */
    uint64_t span_born;        /* born in a span, exact */
    uint64_t span_died;        /* of those: died in the same; weighted */
    uint32_t live, peak;       /* entries in the live table: each stands for sm_objects.weight */
    sm_objects_type *type;     /* NULL: site 0 */
} __attribute__((aligned(64))) sm_objects_site;

typedef struct {           /* what of a site no birth touches. Guard: as of sm_objects_site; the save's: its lock */
    sm_function *function; /* NULL: made by no Python function */
    const void *node;      /* of the call tree; NULL: none */
    int32_t line;          /* 0: unknown */
    bool approximate;      /* objects of it were sampled out or lost: live, died and so on are estimates */
    uint32_t next;         /* in its bucket */
    uint64_t unseen;       /* weighted */
    uint64_t span_live;    /* the save's */
    uint64_t saved;        /* the save's: what it was at the last */
    uint64_t events[SM_OBJECTS_BUCKETS]; /* ages in births, weighted: bucket b from 4^(b-1) to 4^b - 1 */
    uint64_t ns[SM_OBJECTS_BUCKETS];     /* ages in ns: bucket b is that of 4^(b+2) to 4^(b+3) - 1 */
} sm_objects_rest;

/* So many had been born and had died at that time. Guard: the GIL; once published only the last one changes, or all of
 * them with the engine's lock as well. */
typedef struct {
    uint64_t born, died;
    uint64_t ticks; /* of sm_engine.clock */
} sm_objects_time;

/* Guard: the GIL; what moves is moved with the engine's lock as well. */
typedef struct {
    bool on;         /* a recording of this recorder has begun and has not been forgotten */
    bool lines;      /* there are sites and the live table */
    uint64_t births; /* so far, recorded ones: the serial of the last birth */
    uint64_t unborn; /* of those: taken back */
    uint64_t deaths;
    uint64_t sampled; /* k: one object in 2^k is in the live table */
    uint64_t weight;  /* 2^k */

    sm_objects_site *sites; /* by id; they move when there are more */
    sm_objects_rest *rests; /* by id; they move too */
    uint32_t sites_count;
    sm_interned types; /* sm_objects_type, by id */

    sm_objects_time *times; /* ascending; the first is the beginning */
    uint32_t times_count;   /* atomic */

    uint64_t live_peak;  /* about the most entries that the live table had, unattributed and dying ones included */
    uint64_t live_bytes; /* memory of the live table */
    uint64_t max_live;

    uint64_t lost_live;  /* objects that the live table had no memory for */
    uint64_t lost_sites; /* births whose site there was no memory or number for: counted by type only */
    uint64_t lost_types; /* births whose type there was no memory for: not counted at all */
    uint64_t keys_bytes; /* memory of types, sites and what finds them */
} sm_objects_state;

extern sm_objects_state sm_objects;

extern const sm_recorder sm_objects_recorder;
bool sm_objects_check(void); /* consistency, for debug builds and tests */
/* From the ticker's thread, without the GIL: the next event is to look at the clock. */
void sm_objects_poke(void);

/* Of the recording. Guard: the GIL, and changed only before a start. */
typedef struct {
    bool lines;        /* which line made an object, not only its type */
    uint64_t max_live; /* objects that are kept track of at once; of more, a sample */
} sm_objects_settings;
#define SM_MAX_LIVE 16000000u /* where nothing else is said */

extern sm_objects_settings sm_objects_chosen;

/* ---- what a thread is at ---- */

struct sm_objects_span;              /* span_births.h */
typedef struct {                     /* the thread's own */
    uint32_t quiet;                  /* depth: births are not recorded */
    uint32_t span;                   /* low bits of the running span's number; 0: none */
    struct sm_objects_span *running; /* its record; NULL: none */
} sm_objects_thread;
extern __thread sm_objects_thread sm_objects_here __attribute__((tls_model("initial-exec")));

/* The object was made just now, and not by the program: takes its birth back. With the GIL, outside events. */
void sm_objects_unborn(const PyObject *object);

/* This thread's births are not recorded from here on, and by type only its deaths neither; nests. Makes no object. */
void sm_objects_quiet(bool on);

/* ---- spans: the owner of open spans implements these (span_births.c) ---- */
void sm_objects_span_born(sm_objects_site *site); /* sm_objects_here.span != 0 */
/* Of an object born in span (low bits), as the birth of that serial. */
void sm_objects_span_died(sm_objects_site *site, uint32_t span, uint64_t serial, uint64_t weight);
void sm_objects_span_unborn(sm_objects_site *site, uint32_t span, uint64_t serial); /* it was not the program's */

/* ---- questions ---- */

typedef struct {
    uintptr_t address; /* never to be followed: the object may be gone */
    uint32_t site;     /* never 0 */
    uint32_t span;     /* low bits; 0: none */
    uint64_t serial;   /* 1 to sm_objects.births */
} sm_object;

uint64_t sm_objects_live_count(void); /* entries in the live table now */

/* Every object of a site that lives as far as is known, in no order. No births or deaths may happen meanwhile on this
 * thread: no Python object may be made. With the GIL; or with the engine's lock, and then objects that are born or die
 * meanwhile may be left out, taken for each other or come twice. */
void sm_objects_each_live(void (*visit)(const sm_object *object, void *context), void *context);

int64_t sm_objects_unix_ns(uint64_t ticks); /* of sm_engine.clock */

/* Notes the time now, for sm_objects.times. From outside events. */
void sm_objects_note_time(void);
/* The program is over: no later time becomes a row of sm_objects.times, unless something is born. What dies until then
 * died at its end. */
void sm_objects_note_end(void);

/* save.c */
void sm_objects_save(sm_output *output);

#endif
