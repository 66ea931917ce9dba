#include "code/code_map.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lookup_count.h"
#include "compat/code_deaths.h"
#include "compat/core_lock.h"

enum { FUNCTION_USERS = 2, SMALLEST = 6 }; /* SMALLEST: binary logarithm of the first number of places */

/* The empty table, which saves lookups a check. */
static sm_code_place nowhere[2];

void (*sm_codes_met_compiled)(void) = NULL;

#define NO_CODES {.places = nowhere, .shift = 63, .count = 0, .mask = 1}
static sm_code_table no_codes = NO_CODES;
#if SM_FREE_THREADED
sm_code_table *sm_codes_newest = &no_codes;
#else
sm_code_table sm_codes = NO_CODES;
#endif

static struct {
    uint32_t references;
    void (*died[SM_CODE_USERS])(sm_code_entry *entry);
    void (*function_died[FUNCTION_USERS])(sm_code_entry *entry);
} users;

static uint32_t serials; /* number of entries made so far */

static uint32_t home_in(const sm_code_table *table, const PyCodeObject *code) {
    return (uint32_t)(sm_code_hash(code) >> table->shift);
}

static sm_code_place *place_in(const sm_code_table *table, const PyCodeObject *code) {
    uint32_t i = home_in(table, code);
    for (const PyCodeObject *at; (at = SM_CODE_AT(&table->places[i])) != code && at != NULL; i = (i + 1) & table->mask)
        SM_LOOK();
    SM_LOOK();
    return &table->places[i];
}

/* Return the place of this code object, or the free one where it belongs. */
static sm_code_place *place_of(const PyCodeObject *code) {
    return place_in(&sm_codes, code);
}

sm_code_entry *sm_code_entry_far(const PyCodeObject *code) {
    const sm_code_place *place = place_of(code);
    return SM_CODE_AT(place) == code ? place->entry : NULL;
}

/* Return true if the entry keeps its code alive. An object of another interpreter must die there. */
static bool is_owner(const sm_code_entry *entry) {
    return SM_FREE_THREADED && entry->interpreter == PyInterpreterState_Main();
}

static struct table {
    struct table *next;
    sm_code_table table;
} *tables; /* owned; newest first. Without the GIL, older ones live until the last holder releases them */

/* Look up in this table from now on. */
static void use(sm_code_table *table) {
#if SM_FREE_THREADED
    __atomic_store_n(&sm_codes_newest, table, __ATOMIC_RELEASE);
#else
    sm_codes = *table;
#endif
}

static void free_list(struct table **list) {
    while (*list != NULL) {
        struct table *of = *list;
        *list = of->next;
        sm_free(of->table.places);
        sm_free(of);
    }
}

/* Return false if out of memory, with the table unchanged. */
static bool resize(uint32_t logarithm) {
    struct table *more = sm_calloc(1, sizeof *more);
    sm_code_place *places = sm_calloc((size_t)1 << logarithm, sizeof *places);
    if (more == NULL || places == NULL) {
        sm_free(more);
        sm_free(places);
        return false;
    }
    const sm_code_table *old = &sm_codes;
    *more = (struct table){tables, {places, 64 - logarithm, old->count, (1u << logarithm) - 1}};
    for (uint32_t i = 0; i <= old->mask; i++)
        if (old->places[i].code != NULL)
            *place_in(&more->table, old->places[i].code) = old->places[i];
    tables = more;
    use(&more->table);
    if (!SM_FREE_THREADED)
        free_list(&more->next);
    return true;
}

static void publish(sm_code_place *place, sm_code_entry *entry) {
    if (is_owner(entry))
        Py_INCREF(entry->code);
    place->entry = entry;
    __atomic_store_n(&place->code, entry->code, __ATOMIC_RELEASE);
}

/* Return true for Cython's code objects, which have names and lines but zeros for instructions. */
static bool is_compiled_generator(const PyCodeObject *code) {
    return *(const uint8_t *)code->co_code_adaptive == 0 &&
           (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

sm_code_entry *sm_code_entry_make(PyCodeObject *code) {
    SM_CORE_GUARD;
    assert(code != NULL && PyCode_Check(code));
    assert(PyGILState_Check());
    sm_code_entry *entry = sm_code_entry_of(code);
    if (entry != NULL || users.references == 0)
        return entry;
    uint32_t logarithm = 64 - sm_codes.shift;
    if ((sm_codes.count + 1) * 2 > sm_codes.mask && !resize(logarithm < SMALLEST ? SMALLEST : logarithm + 1))
        return NULL;
    entry = sm_malloc(sizeof *entry);
    if (entry == NULL)
        return NULL;
    *entry = (sm_code_entry){.code = code, .serial = ++serials, .interpreter = PyInterpreterState_Get()};
    publish(place_of(code), entry);
    sm_codes.count++;
    if (sm_codes_met_compiled != NULL && SM_UNLIKELY(is_compiled_generator(code)))
        sm_codes_met_compiled();
    return entry;
}

static void take_out(sm_code_place *gap) {
    assert(gap->code != NULL && sm_codes.count > 0);
    sm_code_place *places = sm_codes.places;
    uint32_t mask = sm_codes.mask, free = (uint32_t)(gap - places);
    for (uint32_t i = (free + 1) & mask; places[i].code != NULL; i = (i + 1) & mask) {
        SM_LOOK();
        uint32_t home = home_in(&sm_codes, places[i].code);
        if (((i - home) & mask) >= ((i - free) & mask)) { /* the entry may move to the gap */
            places[free] = places[i];
            free = i;
        }
    }
    places[free] = (sm_code_place){NULL, NULL};
    sm_codes.count--;
}

static void free_entry(sm_code_entry *entry) {
    if (entry == NULL)
        return;
    sm_free(entry->unreported);
    if (is_owner(entry))
        Py_DECREF(entry->code);
    sm_free(entry);
}

/* With the world stopped. */
static void bury(sm_code_entry *entry) {
    for (int user = 0; user < SM_CODE_USERS; user++)
        if (entry->of[user] != NULL && users.died[user] != NULL)
            users.died[user](entry);
    for (int i = 0; i < FUNCTION_USERS && entry->function != NULL && users.function_died[i] != NULL; i++)
        users.function_died[i](entry);
    take_out(place_of(entry->code));
    free_entry(entry);
}

static void died(const PyCodeObject *code) {
    sm_code_entry *entry = sm_code_entry_of(code);
    if (SM_LIKELY(entry == NULL))
        return;
    sm_world_stop();
    bury(entry);
    sm_world_start();
    uint32_t logarithm = 64 - sm_codes.shift;
    if (!SM_FREE_THREADED && logarithm > SMALLEST && sm_codes.count < sm_codes.mask >> 3)
        (void)resize(logarithm - 1); /* if this fails, a later death tries again */
}

void sm_codes_forget(const PyInterpreterState *interpreter) {
    sm_world_stop();
    for (uint32_t i = 0; i <= sm_codes.mask;) {
        sm_code_entry *entry = sm_codes.places[i].entry;
        if (entry != NULL && entry->interpreter == interpreter)
            bury(entry); /* an entry that moves to an earlier place was looked at already */
        else
            i++;
    }
    sm_world_start();
}

static void free_tables(void) {
    sm_world_stop(); /* until nobody is in the middle of a lookup */
    const sm_code_table last = sm_codes;
    use(&no_codes);
    sm_world_start();
    for (uint32_t i = 0; i <= last.mask; i++)
        free_entry(last.places[i].entry);
    free_list(&tables);
}

void sm_codes_hold(void) {
    SM_CORE_GUARD;
    assert(PyGILState_Check());
    if (users.references++ == 0)
        sm_code_deaths_begin(died);
}

void sm_codes_release(void) {
    SM_CORE_GUARD;
    assert(users.references > 0 && PyGILState_Check());
    if (--users.references > 0)
        return;
    sm_code_deaths_end();
    free_tables();
}

bool sm_codes_held(void) {
    return users.references > 0;
}

void sm_codes_on_death(sm_code_user user, void (*function)(sm_code_entry *entry)) {
    assert(user < SM_CODE_USERS && function != NULL);
    users.died[user] = function;
}

void sm_codes_on_function_death(void (*function)(sm_code_entry *entry)) {
    int i = 0;
    while (users.function_died[i] != NULL && users.function_died[i] != function)
        i++;
    assert(i < FUNCTION_USERS);
    users.function_died[i] = function;
}

sm_code_entry *sm_codes_next(uint32_t *at) {
    while (*at <= sm_codes.mask) {
        sm_code_entry *entry = sm_codes.places[(*at)++].entry;
        if (entry != NULL)
            return entry;
    }
    return NULL;
}

bool sm_codes_check(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i <= sm_codes.mask; i++) {
        const sm_code_place *place = &sm_codes.places[i];
        if (place->code == NULL && place->entry == NULL)
            continue;
        count++;
        if (place->entry == NULL || place->entry->code != place->code || place_of(place->code) != place)
            return false;
    }
    return count == sm_codes.count && count * 2 <= sm_codes.mask + 1;
}
