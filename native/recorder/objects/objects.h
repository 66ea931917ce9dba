/* The objects recorder: births and deaths of objects, by type, or by type and the line that makes them.
 *
 * Shape: A *type* is a name with its facts; classes that are made again are one type. A *site* is a type, a function, a
 * line and, with call paths, a node of the call tree. A birth finds its site by the addresses of the type and of the
 * running instruction (sites.c). The *live table* (live.c) has each object's site, its number among all births (its
 * *serial*), and the span in which it was born. By type only, there is no live table, and an event is three additions.
 *
 * An event happens inside the allocation of an object. So nothing here makes a Python object, touches an exception or
 * takes a lock, except on rare events: a new type, a new site, a full shard.
 *
 * Guard: The GIL of the main interpreter for all changes. Arrays that move or are reordered (types, sites, times,
 * spans, notes, the shards) change with the engine's lock as well, with which a save reads growing counters.
 * sm_objects_here belongs to its thread.
 *
 * Without the GIL: The engine's lock takes its place, for whole events (SM_OBJECTS_GUARD). A thread in an event must
 * stay attached: the interpreter may be in the middle of an operation on a list whose lock it would give up. So an
 * event never waits for a lock of the interpreter or for the core's. The engine's lock can be waited for, because no
 * holder has a safe point: neither a stop of the world nor a collection begins while it is held. Dictionaries, which
 * others may have locked, are read without it (SM_OBJECTS_AWAY), and state that other events change is looked up again.
 */
#pragma once

#include "base/interned.h"
#include "engine/engine.h"

#if SM_FREE_THREADED
static inline void sm_objects_unlock(const int *Py_UNUSED(scope)) {
    sm_engine_unlock();
}
#define SM_OBJECTS_GUARD                                                                                               \
    __attribute__((cleanup(sm_objects_unlock), unused)) const int sm_objects_scope = 0;                                \
    sm_engine_lock()
#define SM_OBJECTS_AWAY(statement)                                                                                     \
    do {                                                                                                               \
        sm_engine_unlock();                                                                                            \
        statement;                                                                                                     \
        sm_engine_lock();                                                                                              \
    } while (0)
#else
#define SM_OBJECTS_GUARD ((void)0)
#define SM_OBJECTS_AWAY(statement) statement
#endif

#define SM_OBJECTS_SPAN_BITS 18
#define SM_OBJECTS_SITE_BITS 24
#define SM_OBJECTS_SERIAL_BITS 40
#define SM_OBJECTS_SERIALS ((uint64_t)1 << SM_OBJECTS_SERIAL_BITS)
#define SM_OBJECTS_BUCKETS 16  /* buckets of a histogram of ages */
#define SM_OBJECTS_NS_BUCKET 3 /* the first bucket of times has all shorter ones, the last has all longer ones */
#define SM_OBJECTS_MARKS 4096  /* the most rows of the timeline */

enum {                           /* sm_objects_type.special: what a death does besides counting */
       SM_OBJECTS_IS_KEY = 1,    /* others are found by the addresses of these: types; without the GIL, code too */
       SM_OBJECTS_HAS_ITEMS = 2, /* their sizes are added up */
       SM_OBJECTS_MAY_RESURRECT = 4,
};

/* A type. It never moves, and lives as long as the recording; fields that an event touches come first. Guard: the GIL;
 * a save reads counters meanwhile, which only grow. */
typedef struct sm_objects_type {
    uint64_t born;
    uint64_t gone; /* the part of these that died, also unseen */
    uint64_t peak;
    uint64_t died_by_gc;
    uint64_t before;     /* objects that died, but whose birth was not seen */
    uint64_t item_bytes; /* size of the items of those that died */
    uint64_t untracked;  /* living objects that are not in the live table: sampled out, or no memory */
    uint32_t id;
    uint8_t special;
    uint8_t items; /* how to find the number of items (sites.c) */
    uint16_t item_size;

    uint64_t unseen;      /* the part of `gone` whose deaths were not reported */
    uint64_t resurrected; /* died twice */
    uint64_t size;
    uint32_t flags;
    uint32_t collection;      /* by type only: the last collection in which one was born */
    uint64_t collection_born; /* births in that collection, less the deaths since */
    char *module, *name;      /* owned; UTF-8 (surrogatepass) */
    Py_ssize_t basic_size;
    uint64_t saved; /* sum of the saved values */
} __attribute__((aligned(64))) sm_objects_type;

/* The fields of a site that an event touches, in one cache line. Site 0 has the births that are not recorded. Guard:
 * the GIL; a save reads counters meanwhile; moved with the engine's lock as well. */
typedef struct {
    uint64_t born;
    uint64_t died, died_by_gc; /* weighted */
    uint64_t item_bytes;       /* size of the items of those that died; weighted */
    uint64_t span_born;        /* born in a span; exact */
    uint64_t span_died;        /* the part of these that died in the same span; weighted */
    uint32_t live, peak;       /* entries in the live table, each for sm_objects.weight objects */
    sm_objects_type *type;     /* NULL for site 0 */
} __attribute__((aligned(64))) sm_objects_site;

typedef struct { /* the other fields of a site. Guard: that of sm_objects_site, or the save's lock where noted */
    sm_function *function; /* the function that makes the objects, or NULL */
    const void *node;      /* its node of the call tree, or NULL */
    int32_t line;          /* line number, or 0 if unknown */
    bool approximate;      /* some of its objects were sampled out or lost, so `live`, `died` and so on are estimates */
    uint32_t next;         /* the next site in its bucket */
    uint64_t unseen;       /* weighted */
    uint64_t span_live;    /* guard: the save's lock */
    uint64_t saved;        /* sum of the counters at the last save; guard: the save's lock */
    uint64_t events[SM_OBJECTS_BUCKETS]; /* weighted ages in births; bucket b has 4^(b-1) to 4^b - 1 */
    uint64_t ns[SM_OBJECTS_BUCKETS];     /* ages in ns; bucket b has 4^(b+2) to 4^(b+3) - 1 */
} sm_objects_rest;

/* The numbers of births and deaths until a time. Guard: the GIL; once published only the last row changes, or all rows
 * change with the engine's lock as well. */
typedef struct {
    uint64_t born, died;
    uint64_t ticks;
} sm_objects_time;

/* The recorder's state. Guard: the GIL; arrays that move do so with the engine's lock as well. */
typedef struct {
    bool on;         /* this recorder has a recording, perhaps a stopped one */
    bool lines;      /* there are sites and the live table */
    uint64_t births; /* recorded births, which is the serial of the last one */
    uint64_t unborn; /* the part of these that was taken back */
    uint64_t deaths;
    uint64_t sampled; /* k: one object in 2^k is in the live table */
    uint64_t weight;  /* 2^k */

    sm_objects_site *sites; /* by id; they move as they grow */
    sm_objects_rest *rests; /* by id; they move as they grow */
    uint32_t sites_count;
    sm_interned types; /* each sm_objects_type, by id */

    sm_objects_time *times; /* in ascending order; the first is the beginning */
    uint32_t times_count;   /* atomic */

    uint64_t live_peak; /* the most entries of the live table so far, approximately */
    uint64_t live_bytes;
    uint64_t max_live;

    uint64_t lost_live;  /* objects for which the live table had no memory */
    uint64_t lost_sites; /* births without memory or number for their site, counted by type */
    uint64_t lost_types; /* births without memory for their type, not counted */
    uint64_t keys_bytes; /* memory of types, sites and their tables */
} sm_objects_state;

/* Guard: the GIL, and the engine's lock as well for arrays that move. */
extern sm_objects_state sm_objects;

extern const sm_recorder sm_objects_recorder;
bool sm_objects_check(void);
/* Make the next event read the clock. Called on the ticker's thread, without the GIL. */
void sm_objects_poke(void);

/* Settings of the recording. Guard: the GIL; changed only before a start. */
typedef struct {
    enum { SM_OBJECTS_BY_LINE, SM_OBJECTS_BY_TYPE } by; /* record the line that made an object, or only its type */
    uint64_t max_live; /* objects in the live table; if there are more, it has a sample */
} sm_objects_settings;

extern sm_objects_settings sm_objects_chosen;

struct sm_objects_span;
typedef struct {
    uint32_t quiet; /* depth of nested pauses, in which births are not recorded */
    uint32_t span;  /* low bits of the running span's number, or 0 */
    struct sm_objects_span *running;
    bool
        collects; /* without the GIL: a collection has begun on this thread, and the last one is not known to be over */
} sm_objects_thread;
extern SM_FAST_TLS sm_objects_thread sm_objects_here;

/* Take back the last birth, of an object that the program did not make. With the GIL, outside events. */
void sm_objects_unborn(const PyObject *object);

/* Stop or resume recording births on this thread, and by type only deaths; nests. Makes no object. */
void sm_objects_quiet(bool on);

/* Without the GIL only: a collection begins on this thread, while the world is stopped, and asks this module for its
 * references. */
void sm_objects_collector_asks(PyObject *module);

void sm_objects_span_born(sm_objects_site *site); /* called if sm_objects_here.span is not 0 */
/* Count a death of an object that was born in this span (low bits) with this serial. */
void sm_objects_span_died(sm_objects_site *site, uint32_t span, uint64_t serial, uint64_t weight);
void sm_objects_span_unborn(sm_objects_site *site, uint32_t span, uint64_t serial); /* takes a birth back */

typedef struct {
    uintptr_t address; /* never followed, since the object may be gone */
    uint32_t site;     /* never 0 */
    uint32_t span;     /* low bits, or 0 */
    uint64_t serial;
} sm_object;

uint64_t sm_objects_live_count(void); /* entries in the live table */

/* Visit every live object that has a site, in no order, without a birth or death on this thread. With the GIL; or with
 * the engine's lock, when objects that are born or die meanwhile may be missed, mixed up or repeated. */
void sm_objects_each_live(void (*visit)(const sm_object *object, void *context), void *context);

int64_t sm_objects_unix_ns(uint64_t ticks);

/* Note the time for sm_objects.times, outside events. */
void sm_objects_note_time(void);
/* Note the program's end: no later time becomes a row of sm_objects.times unless something is born. Deaths until then
 * count as at the end. */
void sm_objects_note_end(void);

void sm_objects_save(sm_output *output);
