/* When objects were born. An entry of the live table has room for a serial, not for a time, and a read of the clock
 * costs as much as the rest of an event. So the clock is read when the ticker has been there, every two milliseconds,
 * and what is between is interpolated by the number of births.
 *
 * Two collections of such times. `sm_objects.times` is the recording's timeline: evenly spread from its beginning, and
 * when it is full, every other one goes. For ages it would be too coarse after an hour. There, an error should be a
 * fraction of the age: *levels* of the last SM_PER_LEVEL times each, level i having every 2^i-th, so that the distance
 * between known times around a birth is at most 1/32 of its age (and two milliseconds). Younger objects than the last
 * known time, most that die at all, need no time: the rate of births in the stretch before it tells, once for all.
 *
 * Error. While births come evenly within a stretch, small. If they do not, an age is off by at most the stretch's
 * length: two milliseconds for young objects, 1/32 of the age for others. That is why ages are told by powers of four.
 *
 * A time when nothing is born must not be taken for a slow stretch of births: the ticker leaves the time at which it
 * came, and if the event that notices it comes much later, both are noted. */
#include <string.h>

#include "base/alloc.h"
#include "engine/ticker.h"
#include "recorder/objects/store.h"

#define SM_PER_LEVEL 64
#define SM_LEVELS 28

typedef struct {
    uint64_t serial, ticks;
} moment;

static struct {                             /* guard: the GIL, but for what is atomic */
    moment levels[SM_LEVELS][SM_PER_LEVEL]; /* rings */
    uint64_t noted;                         /* moments so far: the number of the next one */
    moment last;
    uint64_t apart, passed; /* of sm_objects.times: moments from one to the next, and since the last one */
    bool ended;             /* the timeline is: with its last row, unless something is born */
    uint64_t poked;         /* atomic: ticks at the first tick that no event has noticed; 0: none */
} known;

/* last: this one is kept in any case. */
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
    uint64_t poked = __atomic_exchange_n(&known.poked, 0, __ATOMIC_RELAXED), now = sm_clock_read(&sm_engine.clock);
    if (poked != 0 && sm_clock_ns(&sm_engine.clock, (double)(now - poked)) > SM_TICK_NS)
        note(poked, false); /* until then there were events, and then none until now */
    note(now, last);
}

void sm_objects_note_time(void) {
    note_now(false);
}

void sm_objects_note_end(void) {
    note_now(true);
    known.ended = sm_objects.times != NULL && sm_objects.times_count > 0;
}

void sm_objects_poked(void) {
    sm_engine_stir();
    sm_objects_note_time();
}

void sm_objects_poke(void) { /* without the GIL */
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

/* When a birth was, interpolated between times that are known. */
static uint64_t ticks_of(uint64_t serial) {
    if (serial > known.last.serial) {
        double ns = (double)(serial - known.last.serial) * (double)sm_objects_hot.rate / 65536.0;
        return known.last.ticks + (uint64_t)(ns / sm_engine.clock.ns_per_tick);
    }
    moment after = known.last;
    for (int i = 0; i < SM_LEVELS; i++) { /* the finest level that goes back so far */
        uint64_t count = known.noted > 0 ? ((known.noted - 1) >> i) + 1 : 0; /* moments that went into it */
        uint64_t there = count < SM_PER_LEVEL ? count : SM_PER_LEVEL;
        if (there == 0 || known.levels[i][(count - there) % SM_PER_LEVEL].serial >= serial)
            continue;
        uint64_t low = count - there, high = count; /* serial is behind low's, not behind high's */
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
    sm_objects.times = sm_malloc(SM_OBJECTS_MARKS * sizeof *sm_objects.times); /* NULL: there will be no timeline */
    sm_objects_hot.rate = 100 << 16; /* a guess, for the first two milliseconds */
    sm_objects_note_time();
}

void sm_objects_times_free(void) {
    sm_free(sm_objects.times);
}

int64_t sm_objects_unix_ns(uint64_t ticks) {
    double since = (double)ticks - (double)sm_engine.start_ticks;
    return sm_engine.start_ns + (int64_t)(since * sm_engine.clock.ns_per_tick);
}
