/* The table of code objects, by address.
 *
 * co_extra is not used: code with extra data cannot be sent to another interpreter, and the free functions of all tools
 * run for it. The table is open-addressed, with a multiplicative hash, linear probing and a load of at most one half.
 * Four of five lookups end at the first place, which is inlined. A deletion moves later places back (Knuth's algorithm
 * R), so there are no tombstones, and the table shrinks again. Entries never move, because users keep pointers to them.
 *
 * compat/code_deaths.h reports code objects that die. The table is emptied when its last holder releases it
 * (sm_codes_hold). It is guarded by the main interpreter's GIL, or by the core's lock (compat/core_lock.h). Code of
 * other interpreters has entries on 3.11, where all interpreters share one lock, and while those are recorded. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "compat/compat.h"

typedef enum {
    SM_CODE_COVERAGE, /* the coverage recorder's record */
    SM_CODE_PROBES,   /* the record of the source `probes` */
    SM_CODE_EVENTS,   /* used by the monitoring source, for code with local events */
    SM_CODE_HOOKS,    /* the record of the hub */
    SM_CODE_CALLS,    /* the call tree's nodes */
    SM_CODE_USERS
} sm_code_user;

struct sm_function;

typedef struct sm_code_entry {
    struct sm_function *function;     /* NULL until requested */
    void *of[SM_CODE_USERS];          /* pointer of each user, or NULL */
    uint32_t session;                 /* last recording whose source of lines met it, or 0 */
    uint32_t serial;                  /* unique in this process */
    PyInterpreterState *interpreter;  /* borrowed, never followed */
    PyCodeObject *code;               /* borrowed; the entry dies with it. Without the GIL, owned if of the main one */
    struct sm_unreported *unreported; /* owned, or NULL; see code/unreported_lines.h */
    bool asked_for_unreported;
} sm_code_entry;

typedef struct {
    const PyCodeObject *code; /* NULL if free */
    sm_code_entry *entry;
} sm_code_place;

typedef struct {
    sm_code_place *places;
    uint32_t shift;       /* 64 - log2(number of places) */
    uint32_t count, mask; /* number of entries; number of places - 1 */
} sm_code_table;

#if SM_FREE_THREADED
/* Lookups take no lock: a full table is replaced by a larger one, and both live until the last holder releases them.
 * Entries keep code of the main interpreter alive, so no address is reused meanwhile. Code of others has an entry until
 * it dies, which is taken out while no other thread looks anything up. */
extern sm_code_table *sm_codes_newest; /* atomic */
#define sm_codes (*__atomic_load_n(&sm_codes_newest, __ATOMIC_ACQUIRE))
#define SM_CODE_AT(place) __atomic_load_n(&(place)->code, __ATOMIC_ACQUIRE)
#else
extern sm_code_table sm_codes;
#define SM_CODE_AT(place) ((place)->code)
#endif

static inline uint64_t sm_code_hash(const void *code) {
    return (uint64_t)(uintptr_t)code * 0x9E3779B97F4A7C15u;
}

sm_code_entry *sm_code_entry_far(const PyCodeObject *code); /* searches the places after the first */

/* Return the code object's entry, or NULL. */
static inline sm_code_entry *sm_code_entry_of(const PyCodeObject *code) {
    const sm_code_table *table = &sm_codes;
    const sm_code_place *place = &table->places[sm_code_hash(code) >> table->shift];
    return SM_LIKELY(SM_CODE_AT(place) == code) ? place->entry : sm_code_entry_far(code);
}

/* Return the entry of an event's code, or NULL. Cython passes objects that are no code objects. */
static inline sm_code_entry *sm_code_entry_of_any(const void *code) {
    return sm_code_entry_of(code); /* only code objects are in the table */
}

/* Return true if the code object has a function. */
static inline bool sm_code_is_named(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    return SM_LIKELY(entry != NULL) && SM_LIKELY(entry->function != NULL);
}

/* Return the entry, made if necessary, or NULL if out of memory or the table is not held. */
sm_code_entry *sm_code_entry_make(PyCodeObject *code);

/* Called when an entry is made for a generator or coroutine compiled to C, which fires its own events. May be NULL. */
extern void (*sm_codes_met_compiled)(void);

/* Keep the table until the matching release. Calls nest. */
void sm_codes_hold(void);
void sm_codes_release(void);
bool sm_codes_held(void);
void sm_codes_forget(const PyInterpreterState *interpreter); /* which ends: remove the entries of its code */

/* Set the function that is called when a code object with data of this user dies. It runs with the GIL, perhaps with an
 * exception set or inside the garbage collector. It makes no Python object and runs no Python code. */
void sm_codes_on_death(sm_code_user user, void (*died)(sm_code_entry *entry));
/* Add a function that is called, after those of the users, when a code object that has a function dies. */
void sm_codes_on_function_death(void (*died)(sm_code_entry *entry));

/* Return the next entry, or NULL; *at begins with 0. Changes meanwhile may omit or repeat entries. */
sm_code_entry *sm_codes_next(uint32_t *at);

bool sm_codes_check(void); /* for debug builds and tests */
