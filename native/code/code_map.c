#include "code/code_map.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lookup_count.h"
#include "compat/code_deaths.h"

enum { FUNCTION_USERS = 2, SMALLEST = 6 }; /* SMALLEST: binary logarithm of the first number of places */

/* The empty table, which saves lookups a check. */
static sm_code_place nowhere[2];

void (*sm_codes_met_compiled)(void) = NULL;

sm_code_table sm_codes = {.places = nowhere, .shift = 63, .count = 0, .mask = 1};

static struct {
    uint32_t references;
    void (*died[SM_CODE_USERS])(sm_code_entry *entry);
    void (*function_died[FUNCTION_USERS])(sm_code_entry *entry);
} users;

static uint32_t serials; /* number of entries made so far */

static uint32_t home_of(const PyCodeObject *code) {
    return (uint32_t)(sm_code_hash(code) >> sm_codes.shift);
}

/* Return the place of this code object, or the free one where it belongs. */
static sm_code_place *place_of(const PyCodeObject *code) {
    uint32_t i = home_of(code);
    for (; sm_codes.places[i].code != code && sm_codes.places[i].code != NULL; i = (i + 1) & sm_codes.mask)
        SM_LOOK();
    SM_LOOK();
    return &sm_codes.places[i];
}

sm_code_entry *sm_code_entry_far(const PyCodeObject *code) {
    const sm_code_place *place = place_of(code);
    return place->code == code ? place->entry : NULL;
}

/* Return false if out of memory, with the table unchanged. */
static bool resize(uint32_t logarithm) {
    sm_code_place *old = sm_codes.places, *grown = sm_calloc((size_t)1 << logarithm, sizeof *grown);
    uint32_t size = sm_codes.mask + 1;
    if (grown == NULL)
        return false;
    sm_codes.places = grown;
    sm_codes.shift = 64 - logarithm;
    sm_codes.mask = (1u << logarithm) - 1;
    for (uint32_t i = 0; i < size; i++)
        if (old[i].code != NULL)
            *place_of(old[i].code) = old[i];
    if (old != nowhere)
        sm_free(old);
    return true;
}

/* Return true for Cython's code objects, which have names and lines but zeros for instructions. */
static bool is_compiled_generator(const PyCodeObject *code) {
    return *(const uint8_t *)code->co_code_adaptive == 0 &&
           (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

sm_code_entry *sm_code_entry_make(PyCodeObject *code) {
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
    *entry = (sm_code_entry){.code = code, .serial = ++serials};
    *place_of(code) = (sm_code_place){code, entry};
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
        if (((i - home_of(places[i].code)) & mask) >= ((i - free) & mask)) { /* the entry may move to the gap */
            places[free] = places[i];
            free = i;
        }
    }
    places[free] = (sm_code_place){NULL, NULL};
    sm_codes.count--;
}

static void free_entry(sm_code_entry *entry) {
    if (entry != NULL)
        sm_free(entry->unreported);
    sm_free(entry);
}

static void died(const PyCodeObject *code) {
    sm_code_entry *entry = sm_code_entry_of(code);
    if (SM_LIKELY(entry == NULL))
        return;
    for (int user = 0; user < SM_CODE_USERS; user++)
        if (entry->of[user] != NULL && users.died[user] != NULL)
            users.died[user](entry);
    for (int i = 0; i < FUNCTION_USERS && entry->function != NULL && users.function_died[i] != NULL; i++)
        users.function_died[i](entry);
    take_out(place_of(code));
    free_entry(entry);
    uint32_t logarithm = 64 - sm_codes.shift;
    if (logarithm > SMALLEST && sm_codes.count < sm_codes.mask >> 3)
        (void)resize(logarithm - 1); /* if this fails, a later death tries again */
}

void sm_codes_hold(void) {
    assert(PyGILState_Check());
    if (users.references++ == 0)
        sm_code_deaths_begin(died);
}

void sm_codes_release(void) {
    assert(users.references > 0 && PyGILState_Check());
    if (--users.references > 0)
        return;
    sm_code_deaths_end();
    for (uint32_t i = 0; i <= sm_codes.mask; i++)
        free_entry(sm_codes.places[i].entry);
    if (sm_codes.places != nowhere)
        sm_free(sm_codes.places);
    sm_codes = (sm_code_table){.places = nowhere, .shift = 63, .count = 0, .mask = 1};
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
