/* The objects recorder: births and deaths of objects, by type, or by type and the line that makes them.
 *
 * Shape: A *type* is a name with its facts; classes that are made again are one type. A *site* is a type, a function, a
 * line and, with call paths, a node of the call tree. A birth finds its site by the addresses of the type and of the
 * running instruction (sites.c). The *live table* (live.c) keeps each object's site, its number among all births (its
 * *serial*), and the span in which it was born. By type only, there is no live table, and an event is three additions.
 *
 * Events run inside the allocation of others. So nothing here makes a Python object, touches an exception or takes a
 * lock, except rare events: a new type, a new site, a full shard.
 *
 * Guard: The GIL of the main interpreter for all changes. What moves or is reordered (types, sites, times, spans,
 * notes, the shards) changes with the engine's lock as well, with which a save reads counters while they grow.
 * sm_objects_here belongs to its thread. */
#ifndef SM_RECORDER_OBJECTS_OBJECTS_H
#define SM_RECORDER_OBJECTS_OBJECTS_H

#include "base/interned.h"
#include "engine/engine.h"

#define SM_OBJECTS_SPAN_BITS 18
#define SM_OBJECTS_SITE_BITS 24
#define SM_OBJECTS_SERIAL_BITS 40
#define SM_OBJECTS_SERIALS ((uint64_t)1 << SM_OBJECTS_SERIAL_BITS)
#define SM_OBJECTS_BUCKETS 16  /* of a histogram of ages */
#define SM_OBJECTS_NS_BUCKET 3 /* the first of times, with all shorter ones; the last bucket is open */
#define SM_OBJECTS_MARKS 4096  /* most times of births */

enum {                           /* sm_objects_type.special: what a death does besides counting */
       SM_OBJECTS_IS_TYPE = 1,   /* its objects are types */
       SM_OBJECTS_HAS_ITEMS = 2, /* their sizes are added up */
       SM_OBJECTS_MAY_RESURRECT = 4,
};

/* Never moves, lives as long as the recording; first what an event touches. Guard: the GIL; a save reads counters
 * meanwhile, which only grow. */
typedef struct sm_objects_type {
    uint64_t born;
    uint64_t gone; /* of these, died, also unseen */
    uint64_t peak;
    uint64_t died_by_gc;
    uint64_t before;     /* died, but their birth was not seen */
    uint64_t item_bytes; /* of those that died */
    uint64_t untracked;  /* alive, but not in the live table: sampled out, or lost for want of memory */
    uint32_t id;
    uint8_t special;
    uint8_t items; /* how to find their number: sites.c */
    uint16_t item_size;

    uint64_t unseen;      /* of `gone` */
    uint64_t resurrected; /* died twice */
    uint64_t size;
    uint32_t flags;
    uint32_t collection;      /* by type only: the last in which one was born */
    uint64_t collection_born; /* of these, those that may still be alive */
    char *module, *name;      /* owned; UTF-8 (surrogatepass) */
    Py_ssize_t basic_size;
    uint64_t saved; /* sum of the saved values */
} __attribute__((aligned(64))) sm_objects_type;

/* One cache line: what an event touches. Site 0 is unattributed: births that are not recorded. Guard: the GIL; a save
 * reads counters meanwhile; moved with the engine's lock as well. */
typedef struct {
    uint64_t born;
    uint64_t died, died_by_gc; /* weighted */
    uint64_t item_bytes;       /* weighted; of those that died */
    uint64_t span_born;        /* born in a span; exact */
    uint64_t span_died;        /* of these, died in the same; weighted */
    uint32_t live, peak;       /* entries in the live table, each for sm_objects.weight objects */
    sm_objects_type *type;     /* NULL for site 0 */
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
    uint64_t ns[SM_OBJECTS_BUCKETS];     /* ages in ns: bucket b from 4^(b+2) to 4^(b+3) - 1 */
} sm_objects_rest;

/* So many had been born and had died at that time. Guard: the GIL; once published only the last one changes, or all of
 * them with the engine's lock as well. */
typedef struct {
    uint64_t born, died;
    uint64_t ticks;
} sm_objects_time;

/* Guard: the GIL; what moves is moved with the engine's lock as well. */
typedef struct {
    bool on;         /* a recording of this recorder was started and not forgotten */
    bool lines;      /* there are sites and the live table */
    uint64_t births; /* recorded ones: the serial of the last birth */
    uint64_t unborn; /* of these, taken back */
    uint64_t deaths;
    uint64_t sampled; /* k: one object in 2^k is in the live table */
    uint64_t weight;  /* 2^k */

    sm_objects_site *sites; /* by id; they move as they grow */
    sm_objects_rest *rests; /* by id; they move as they grow */
    uint32_t sites_count;
    sm_interned types; /* of sm_objects_type, by id */

    sm_objects_time *times; /* ascending; the first is the beginning */
    uint32_t times_count;   /* atomic */

    uint64_t live_peak; /* about the most entries of the live table */
    uint64_t live_bytes;
    uint64_t max_live;

    uint64_t lost_live;  /* objects for which the live table had no memory */
    uint64_t lost_sites; /* births without memory or number for their site, counted by type */
    uint64_t lost_types; /* births without memory for their type, not counted */
    uint64_t keys_bytes; /* of types, sites, and what finds them */
} sm_objects_state;

/* Guard: the GIL, and the engine's lock for what moves. */
extern sm_objects_state sm_objects;

extern const sm_recorder sm_objects_recorder;
bool sm_objects_check(void);
/* Make the next event look at the clock. From the ticker's thread, without the GIL. */
void sm_objects_poke(void);

/* Settings of the recording. Guard: the GIL; changed only before a start. */
typedef struct {
    enum { SM_OBJECTS_BY_LINE, SM_OBJECTS_BY_TYPE } by; /* whether it keeps which line made an object */
    uint64_t max_live;                                  /* objects in the live table; of more, a sample */
} sm_objects_settings;

extern sm_objects_settings sm_objects_chosen;

struct sm_objects_span;
typedef struct {
    uint32_t quiet; /* depth: births are not recorded */
    uint32_t span;  /* low bits of the running span's number, or 0 */
    struct sm_objects_span *running;
} sm_objects_thread;
extern __thread sm_objects_thread sm_objects_here __attribute__((tls_model("initial-exec")));

/* Take the birth back of an object that was made just now, and not by the program. With the GIL, outside events. */
void sm_objects_unborn(const PyObject *object);

/* Stop or resume recording births on this thread, and by type only deaths; nests. Makes no object. */
void sm_objects_quiet(bool on);

void sm_objects_span_born(sm_objects_site *site); /* sm_objects_here.span is not 0 */
/* Count a death of an object that was born in this span (low bits) with this serial. */
void sm_objects_span_died(sm_objects_site *site, uint32_t span, uint64_t serial, uint64_t weight);
void sm_objects_span_unborn(sm_objects_site *site, uint32_t span, uint64_t serial); /* it was not the program's */

typedef struct {
    uintptr_t address; /* not to be followed, since the object may be gone */
    uint32_t site;     /* never 0 */
    uint32_t span;     /* low bits, or 0 */
    uint64_t serial;
} sm_object;

uint64_t sm_objects_live_count(void); /* entries in the live table */

/* Visit every live object that has a site, in no order, without a birth or death on this thread. With the GIL; or with
 * the engine's lock, when objects that are born or die meanwhile may be missed, confused or repeated. */
void sm_objects_each_live(void (*visit)(const sm_object *object, void *context), void *context);

int64_t sm_objects_unix_ns(uint64_t ticks);

/* Note the time for sm_objects.times, outside events. */
void sm_objects_note_time(void);
/* Note the program's end: no later time becomes a row of sm_objects.times unless something is born. Deaths until then
 * count as at the end. */
void sm_objects_note_end(void);

void sm_objects_save(sm_output *output);

#endif
