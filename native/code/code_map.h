/* Code objects: what is known of each, found by its address.
 *
 * The interpreter offers a place on the code object itself (co_extra). It is not used: code with anything there counts
 * as stateful, so that a program could not send its functions to another interpreter any more, and an index that one
 * tool asks for makes the free functions of all others run for the code. What hangs on nothing cannot be seen.
 *
 * Shape. One table for all users: open addressing by a multiplicative hash of the address, linear probing, at most half
 * full. A place is the address and the entry, so that a probe touches one cache line and then the entry's; four of five
 * lookups end at the first place, which is the inline part. A deletion moves the places behind it back (Knuth's
 * algorithm R), so that no tombstones are left, and the table shrinks again: its size is bounded by the code objects
 * that live. Entries are allocated singly: their users keep pointers to them.
 *
 * An address that is in the table is that of a code object that lives. compat/code_deaths.h tells of those that go
 * away; their entries go with them. That holds while anybody holds the table (sm_codes_hold); with the last one it is
 * emptied.
 *
 * Everything here is touched with the GIL of the main interpreter. Objects of several interpreters live in one address
 * space, so that no two of them have the same address; code of others gets an entry on 3.11 only, where all
 * interpreters have one lock. After a fork, the child goes on with what it has. */
#ifndef SM_CODE_CODE_MAP_H
#define SM_CODE_CODE_MAP_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "compat/compat.h"

typedef enum {
    SM_CODE_COVERAGE, /* the coverage recorder's record */
    SM_CODE_PROBES,   /* the probes source's */
    SM_CODE_EVENTS,   /* of the monitoring source: it has events of its own */
    SM_CODE_HOOKS,    /* the hub's */
    SM_CODE_CALLS,    /* the call tree's: which nodes are known by it */
    SM_CODE_USERS
} sm_code_user;

struct sm_function;

typedef struct sm_code_entry {
    struct sm_function *function; /* NULL: nobody has asked for it yet */
    void *of[SM_CODE_USERS];      /* each user's own; NULL: nothing */
    uint32_t session;             /* the recording in which the source of lines has met it; 0: none */
    uint32_t serial;              /* no other's in this process, whatever becomes of the address */
    PyCodeObject *code;           /* borrowed: the entry goes with it */
    struct sm_unreported *untold; /* owned: see code/unreported_lines.h. NULL: it has none, or was not asked for them */
    bool asked_for_untold;
} sm_code_entry;

typedef struct {
    const PyCodeObject *code; /* NULL: free */
    sm_code_entry *entry;
} sm_code_place;

typedef struct {
    sm_code_place *places;
    uint32_t shift;       /* 64 less the binary logarithm of the number of places */
    uint32_t count, mask; /* entries; places less one */
} sm_code_table;

extern sm_code_table sm_codes;

static inline uint64_t sm_code_hash(const void *code) {
    return (uint64_t)(uintptr_t)code * 0x9E3779B97F4A7C15u;
}

sm_code_entry *sm_code_entry_far(const PyCodeObject *code); /* the rest of the search */

/* What is known of a code object; NULL: nothing. */
static inline sm_code_entry *sm_code_entry_of(const PyCodeObject *code) {
    const sm_code_place *place = &sm_codes.places[sm_code_hash(code) >> sm_codes.shift];
    return SM_LIKELY(place->code == code) ? place->entry : sm_code_entry_far(code);
}

/* The same of what an event calls its code, which may be no code object. */
static inline sm_code_entry *sm_code_entry_of_any(const void *code) {
    return sm_code_entry_of(code); /* whatever is in the table is one */
}

/* Does it have a function already? */
static inline bool sm_code_is_named(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    return SM_LIKELY(entry != NULL) && SM_LIKELY(entry->function != NULL);
}

/* Found, or made; NULL: out of memory, or nobody holds the table. */
sm_code_entry *sm_code_entry_make(PyCodeObject *code);

/* Called whenever a code object is met of a generator or coroutine that was compiled to C, which tells of its events
 * itself. Set once; NULL: nobody wants to know. */
extern void (*sm_codes_met_compiled)(void);

/* A user may know of code objects from hold to release, which nest. */
void sm_codes_hold(void);
void sm_codes_release(void);
bool sm_codes_held(void);

/* Called when a code object goes away of which this user knows something: with the GIL, maybe with an exception
 * pending, maybe inside the garbage collector; it makes no Python object and runs none. */
void sm_codes_on_death(sm_code_user user, void (*died)(sm_code_entry *entry));
/* The same for those that have a function; after the users. Whoever has asked once goes on being called. */
void sm_codes_on_function_death(void (*died)(sm_code_entry *entry));

/* All entries, one after the other: *at begins with 0. NULL: that was the last. Where entries come or go meanwhile,
 * some may be left out or come twice. */
sm_code_entry *sm_codes_next(uint32_t *at);

bool sm_codes_check(void); /* consistency, for debug builds and tests */

#endif
