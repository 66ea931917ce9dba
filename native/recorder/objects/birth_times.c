/* When objects were born. A reading of the clock costs as much as the rest of an event. So it is read after the ticker,
 * every two milliseconds, and times in between are interpolated by the number of births.
 *
 * `sm_objects.times` is the recording's timeline, evenly spaced; when it is full, every second time is removed. For
 * ages it is too coarse. So there are *levels* with the last SM_PER_LEVEL times each; level i has every 2^i-th. Thus
 * the known times around a birth differ by at most 1/32 of its age, or two milliseconds, which bounds the error.
 * Objects younger than the last known time use the rate of births before it.
 *
 * A time without births must not look like a slow stretch. So the ticker leaves its time, and if the event that notices
 * it comes much later, both are noted. */
#include <string.h>

#include "base/alloc.h"
#include "engine/ticker.h"
#include "recorder/objects/store.h"

#define SM_PER_LEVEL 64
#define SM_LEVELS 28

typedef struct {
    uint64_t serial, ticks;
} moment;

static struct {
    /* Guard: the GIL, except as noted. */
    moment levels[SM_LEVELS][SM_PER_LEVEL];
    uint64_t noted; /* number of moments so far */
    moment last;
    uint64_t apart, passed; /* moments between two rows of sm_objects.times, and since the last row */
    bool ended;             /* the timeline has its last row, unless something is born */
    uint64_t poked;         /* atomic: ticks at the first tick that no event has noticed, or 0 */
} known;

/* last: this moment becomes a row in any case. */
static void keep_for_timeline(uint64_t ticks, bool last) {
    if (sm_objects.times == NULL)
        return;
    if (known.ended) {
        sm_objects_time *end = &sm_objects.times[sm_objects.times_count - 1];
        if (end->born == sm_objects.births) {
            __atomic_store_n(&end->died, sm_objects.deaths, __ATOMIC_RELAXED);
            return;
        }
        known.ended = false;
    }
    if (++known.passed < known.apart && !last)
        return;
    known.passed = 0;
    if (sm_objects.times_count == SM_OBJECTS_MARKS) {
        sm_engine_lock();
        for (uint32_t i = 1; i < SM_OBJECTS_MARKS / 2; i++)
            sm_objects.times[i] = sm_objects.times[i * 2];
        sm_objects.times_count = SM_OBJECTS_MARKS / 2;
        sm_engine_unlock();
        known.apart *= 2;
    }
    sm_objects.times[sm_objects.times_count] = (sm_objects_time){sm_objects.births, sm_objects.deaths, ticks};
    __atomic_store_n(&sm_objects.times_count, sm_objects.times_count + 1, __ATOMIC_RELEASE);
}

static void note(uint64_t ticks, bool last) {
    if (ticks <= known.last.ticks)
        return;
    uint64_t births = sm_objects.births - known.last.serial;
    if (births > 0) {
        double ns = sm_clock_ns(&sm_engine.clock, (double)(ticks - known.last.ticks)) * 65536.0 / (double)births;
        sm_objects_hot.rate = ns < 1e12 ? (uint64_t)ns : (uint64_t)1e12;
    }
    known.last = (moment){sm_objects.births, ticks};
    sm_objects_hot.since = sm_objects.births;
    uint64_t number = known.noted++;
    for (int i = 0; i < SM_LEVELS && (number & ((1ull << i) - 1)) == 0; i++)
        known.levels[i][(number >> i) % SM_PER_LEVEL] = known.last;
    keep_for_timeline(ticks, last);
}

static void note_now(bool last) {
    SM_OBJECTS_GUARD;
    sm_objects_thaw();
    uint64_t poked = __atomic_exchange_n(&known.poked, 0, __ATOMIC_RELAXED), now = sm_clock_read(&sm_engine.clock);
    if (poked != 0 && sm_clock_ns(&sm_engine.clock, (double)(now - poked)) > SM_TICK_NS)
        note(poked, false); /* events ended at that tick, and none came until now */
    note(now, last);
}

void sm_objects_note_time(void) {
    note_now(false);
}

void sm_objects_note_end(void) {
    SM_OBJECTS_GUARD;
    note_now(true);
    known.ended = sm_objects.times != NULL && sm_objects.times_count > 0;
}

void sm_objects_poked(sm_reference_tool *Py_UNUSED(tool)) {
    sm_engine_stir(&sm_main);
    sm_objects_note_time();
}

void sm_objects_poke(void) {
    uint64_t none = 0;
    __atomic_compare_exchange_n(&known.poked, &none, sm_clock_read(&sm_engine.clock), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    sm_reference_poke();
}

static uint64_t between(const moment *before, const moment *after, uint64_t serial) {
    if (after->serial <= before->serial)
        return after->ticks;
    double share = (double)(serial - before->serial) / (double)(after->serial - before->serial);
    return before->ticks + (uint64_t)(share * (double)(after->ticks - before->ticks));
}

/* Return the time of a birth, interpolated between known times. */
static uint64_t ticks_of(uint64_t serial) {
    if (serial > known.last.serial) {
        double ns = (double)(serial - known.last.serial) * (double)sm_objects_hot.rate / 65536.0;
        return known.last.ticks + (uint64_t)(ns / sm_engine.clock.ns_per_tick);
    }
    moment after = known.last;
    for (int i = 0; i < SM_LEVELS; i++) { /* the finest level that goes back far enough */
        uint64_t count = known.noted > 0 ? ((known.noted - 1) >> i) + 1 : 0;
        uint64_t there = count < SM_PER_LEVEL ? count : SM_PER_LEVEL;
        if (there == 0 || known.levels[i][(count - there) % SM_PER_LEVEL].serial >= serial)
            continue;
        uint64_t low = count - there, high = count; /* the serial is after low's, and not after high's */
        while (high - low > 1) {
            uint64_t middle = low + (high - low) / 2;
            if (known.levels[i][middle % SM_PER_LEVEL].serial < serial)
                low = middle;
            else
                high = middle;
        }
        if (high < count)
            after = known.levels[i][high % SM_PER_LEVEL];
        return between(&known.levels[i][low % SM_PER_LEVEL], &after, serial);
    }
    return sm_engine.start_ticks;
}

void sm_objects_old(sm_objects_rest *rest, uint64_t what, uint64_t weight) {
    uint64_t born = ticks_of(sm_objects_whole_serial(what)), now = sm_clock_read(&sm_engine.clock);
    double ns = now > born ? sm_clock_ns(&sm_engine.clock, (double)(now - born)) : 0.0;
    uint32_t bucket = sm_objects_bucket((uint64_t)ns >> (2 * SM_OBJECTS_NS_BUCKET));
    rest->ns[bucket < SM_OBJECTS_BUCKETS ? bucket : SM_OBJECTS_BUCKETS - 1] += weight;
}

void sm_objects_times_start(void) {
    memset(&known, 0, sizeof known);
    known.apart = 1;
    sm_objects.times = sm_malloc(SM_OBJECTS_MARKS * sizeof *sm_objects.times); /* NULL if there is no timeline */
    sm_objects_hot.rate = 100 << 16; /* a guess, for the first two milliseconds */
    sm_objects_note_time();
}

int64_t sm_objects_unix_ns(uint64_t ticks) {
    double since = (double)ticks - (double)sm_engine.start_ticks;
    return sm_main.began.unix_ns + (int64_t)(since * sm_engine.clock.ns_per_tick);
}
