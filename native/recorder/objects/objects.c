/* The lifetimes recorder's rare events, and its life.
 *
 * Died by the collector. While the interpreter's own flag says that it collects, every event comes the long way. The
 * first of them is taken for one of the collecting thread: it begins the collection, and objects that were born before
 * it and die on that thread until the flag is down are the collector's. (Finalizers may let other threads run; what
 * dies on those dies by reference count.) Objects that are born within a collection, by finalizers and weak references'
 * callbacks, are not. A next collection is told from this one by events in between, which were counted elsewhere.
 *
 * By type only, nothing is known of an object that dies, so the collector's deaths of a type are those on its thread,
 * less the births of that type within the collection: an estimate, and marked as one.
 *
 * Quiet threads. What seismo itself does on a thread is no part of the recording. By line, births there are site 0's:
 * the live table has them, so that their deaths are known for what they are; deaths of other objects there are as true
 * as any. By type only, neither is counted.
 *
 * Lists that instrument. From 3.14 on, the first RESUME of code that is not up to date with sys.monitoring's events
 * makes and drops a list, in any process where somebody has ever asked for events, ourselves with call paths or spans,
 * and though nobody listens any more. It is the interpreter's, it would be one birth too many for whatever code runs
 * for the first time, and it can be told exactly: a list, born at a RESUME, of code whose version is not yet that of
 * the events. What else happens at a RESUME, collections and signals, comes after that was put right. By line, such a
 * list is site 0's. By type only its death has to be known, too: it is one of the next events, so until then all of
 * them come the long way. */
#include "recorder/objects/objects.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "compat/opcodes.h"
#include "compat/sizes.h"
#include "file/tables.h"
#include "recorder/objects/rows.h"
#include "recorder/objects/store.h"

sm_life_state sm_life;
sm_life_hot_state sm_life_hot;

__thread sm_life_thread sm_life_here __attribute__((tls_model("initial-exec")));

static struct {
    bool busy;            /* in the middle of something of ours: no event is the program's */
    uint32_t quiet;       /* depth, of all threads */
    const PyObject *list; /* that instruments: neither its birth nor its death counts; NULL: none. By type only */
} passed;

static struct {
    const PyThreadState *thread; /* that collects, as far as is known */
    uint64_t id;                 /* its id */
    uint64_t begin;              /* births until then */
    uint64_t events;             /* births and deaths of all when this collection's last event was over */
    uint32_t number;             /* from 1 */
} collection;

/* ---- quiet ---- */

static void tell_quiet(void) {
    sm_ref_set_quiet(passed.busy || passed.quiet > 0 || passed.list != NULL || !sm_life.on ||
                     sm_engine.apart.last != 0);
}

void sm_life_set_busy(bool on) {
    passed.busy = on;
    tell_quiet();
}

void sm_life_quiet(bool on) {
    if (!on && sm_life_here.quiet == 0)
        return;
    sm_life_here.quiet += on ? 1 : (uint32_t)-1;
    passed.quiet += on ? 1 : (uint32_t)-1;
    tell_quiet();
}

static void quiet_birth(PyObject *object) {
    if (!sm_life.lines)
        return;
    uint64_t hash;
    sm_live_shard *shard = sm_live_shard_of((uintptr_t)object, &hash);
    sm_live_entry *home = &shard->entries[sm_live_home(shard, (uintptr_t)object, hash)];
    sm_live_put(shard, home, sm_live_where((uintptr_t)object), sm_life_what(0, sm_life.births));
}

/* The object becomes nobody's, so that its death is, too. By type only nothing is known of an object, so a death of its
 * type is taken back as well, for its own that is to come. */
void sm_life_unborn(const PyObject *object) {
    if (!sm_life.on || sm_life_here.quiet > 0 || sm_is_immortal(object))
        return;
    if (!sm_life.lines) {
        sm_life_type *type = sm_life_type_of(Py_TYPE(object));
        if (type != NULL && type->gone > 0) {
            type->born--, type->gone--;
            sm_life.births--, sm_life.deaths--;
        }
        return;
    }
    sm_live_entry *entry = sm_live_find((uintptr_t)object);
    uint64_t number = entry != NULL ? entry->what >> SM_LIFE_SERIAL_BITS : 0;
    if (number == 0 || (entry->where & 1) != 0)
        return;
    sm_life_site *site = &sm_life.sites[number];
    uint64_t serial = sm_life_whole_serial(entry->what);
    site->born--, site->live--, site->type->born--;
    if (site->born == 0)
        site->peak = 0;
    if (sm_live_span(entry) != 0)
        sm_life_span_unborn(site, sm_live_span(entry), serial);
    if (serial == sm_life.births) /* nothing was born since */
        sm_life.births--;
    else
        sm_life.unborn++;
    entry->where &= ~(uint64_t)((1 << (SM_LIFE_SPAN_BITS + 1)) - 1);
    entry->what = sm_life_what(0, sm_life.births);
}

/* ---- lists that instrument ---- */

bool sm_life_instruments(PyThreadState *tstate) {
#if SM_INSTRUMENTING_MAKES_LISTS
    const sm_frame_head *frame = sm_tstate_frame(tstate);
    const PyCodeObject *code = frame != NULL ? sm_frame_code_of(frame) : NULL;
    if (code == NULL || code->_co_instrumentation_version == sm_tstate_events_version(tstate))
        return false;
    /* the first RESUME may be covered by the opcode of an INSTRUCTION event */
    ptrdiff_t unit = (frame->instruction - sm_code_instructions(code)) / 2;
    return sm_op_resumes(*frame->instruction) || unit == code->_co_firsttraceable;
#else
    (void)tstate;
    return false;
#endif
}

void sm_life_pass_over(const PyObject *object) {
    passed.list = object;
    tell_quiet();
}

/* ---- collections ---- */

/* Is this event one of a collection, on its thread? */
static bool is_collectors(const PyThreadState *tstate) {
    if (!sm_ref_is_collecting())
        return false;
    if (collection.thread == NULL || collection.events != sm_life.births + sm_life.deaths) {
        collection.thread = tstate;
        collection.id = sm_tstate_id(tstate);
        collection.begin = sm_life.births;
        collection.number++;
    }
    return collection.thread == tstate && collection.id == sm_tstate_id(tstate);
}

static void collected_by_line(PyObject *object) {
    const sm_live_entry *entry = sm_live_find((uintptr_t)object);
    uint64_t number = entry != NULL ? entry->what >> SM_LIFE_SERIAL_BITS : 0;
    if (number == 0 || (entry->where & 1) != 0 || sm_life_whole_serial(entry->what) > collection.begin)
        return;
    sm_life_site *site = &sm_life.sites[number];
    site->died_by_gc += sm_life.weight;
    site->type->died_by_gc += sm_life.weight;
    if (sm_life.weight > 1)
        site->type->flags |= SM_TYPE_FLAG_ESTIMATED;
}

static void collecting_by_type(PyObject *object, bool born) {
    sm_life_type *type = sm_life_type_of(Py_TYPE(object));
    if (type == NULL)
        return;
    if (type->collection != collection.number) {
        type->collection = collection.number;
        type->collection_born = 0;
    }
    if (born) {
        type->collection_born++;
    } else if (type->collection_born > 0) {
        type->collection_born--;
    } else if (type->born > type->gone) {
        type->died_by_gc++;
        type->flags |= SM_TYPE_FLAG_ESTIMATED;
    }
}

/* ---- events that came the long way ---- */

void sm_life_rare(PyObject *object, sm_ref_event event, PyThreadState *tstate, const void *node) {
    assert(object != NULL);
    if (passed.busy || !sm_life.on)
        return;
    bool born = event == SM_REF_CREATE, collectors = is_collectors(tstate);
    if (object == passed.list) { /* born: then nobody told of its death */
        sm_life_pass_over(NULL);
        if (!born)
            return;
    }
    bool quiet = sm_life_here.quiet > 0 || sm_is_apart(&sm_engine.apart, tstate);
    if (quiet && (born || !sm_life.lines)) {
        if (born)
            quiet_birth(object);
        else if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS)
            sm_life_type_gone((PyTypeObject *)object);
    } else if (sm_life.lines) {
        if (collectors && !born)
            collected_by_line(object);
        if (born)
            sm_life_born_by_line(object, tstate, node);
        else
            sm_life_died_by_line(object);
    } else {
        if (collectors)
            collecting_by_type(object, born);
        if (born)
            sm_life_born_by_type(object, tstate);
        else
            sm_life_died_by_type(object);
    }
    if (collectors || sm_ref_is_collecting())
        collection.events = sm_life.births + sm_life.deaths;
}

void sm_life_blind(void) { /* types and code objects may die and not be seen to */
    sm_life_types_forget_keys();
    sm_life_sites_forget_keys();
}

/* ---- deaths that take more than counting ---- */

static void count_items(PyObject *object, sm_life_type *type, uint64_t weight, sm_life_site *site) {
    uint64_t bytes = sm_item_bytes(object, (sm_items)type->items, type->item_size);
    type->item_bytes += bytes;
    if (site != NULL)
        site->item_bytes += bytes * weight;
}

static void type_died(PyObject *object) {
    sm_life_type_gone((PyTypeObject *)object);
    if (sm_life.lines)
        sm_life_sites_forget_type((PyTypeObject *)object);
}

void sm_life_special_type_death(PyObject *object, sm_life_type *type) {
    if (type->special & SM_LIFE_HAS_ITEMS)
        count_items(object, type, 1, NULL);
    if (type->special & SM_LIFE_IS_TYPE)
        type_died(object);
}

bool sm_life_special_death(PyObject *object, sm_live_entry *entry) {
    sm_life_site *site = &sm_life.sites[entry->what >> SM_LIFE_SERIAL_BITS];
    sm_life_type *type = site->type;
    if (type->special & SM_LIFE_HAS_ITEMS)
        count_items(object, type, sm_life.weight, site);
    if (type->special & SM_LIFE_IS_TYPE)
        type_died(object);
    if (!(type->special & SM_LIFE_MAY_RESURRECT))
        return false;
    if (entry->where & 1) {
        type->resurrected++; /* the last time; it may be again */
    } else {
        sm_life_count_death(entry, sm_life.weight);
        entry->where |= 1;
    }
    return true;
}

void sm_live_unknown(PyObject *object) {
    if (sm_life_here.quiet > 0) {
        if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS)
            type_died(object);
        return;
    }
    sm_life_type *type = sm_life_type_of(Py_TYPE(object));
    if (type == NULL)
        return;
    if (type->untracked > 0) {
        type->untracked--;
        type->gone++;
        sm_life.deaths++;
    } else {
        type->before++;
    }
    if (type->special & SM_LIFE_IS_TYPE)
        type_died(object);
}

/* ---- life ---- */

static void forget(void) {
    passed.list = NULL;
    sm_live_free();
    sm_life_sites_free();
    sm_life_types_free();
    sm_life_times_free();
    sm_life_rows_forget();
    memset(&sm_life, 0, sizeof sm_life);
    memset(&collection, 0, sizeof collection);
}

static void start(const sm_settings *settings) {
    forget();
    sm_life.lines = settings->lines;
    sm_life.max_live = settings->max_live;
    sm_life.weight = 1;
    sm_life_hot.unsampled = 0;
    sm_life_hot.seed = sm_monotonic_ns() * 0x9E3779B97F4A7C15u;
    sm_life_times_start();
    sm_life.on = sm_life_types_prepare() && (!sm_life.lines || (sm_live_start() && sm_life_sites_start()));
    if (!sm_life.on) { /* the recording says so, and has no more than that */
        PyErr_Clear();
        sm_engine.lost_memory++;
    }
    tell_quiet();
    sm_life_rows_start();
}

static bool thread_start(sm_thread *Py_UNUSED(thread)) {
    return true;
}

static void ignore_thread(sm_thread *Py_UNUSED(thread)) {}

static bool settle(sm_thread *Py_UNUSED(thread), const sm_walked_frame *Py_UNUSED(frames), size_t Py_UNUSED(below),
                   size_t Py_UNUSED(count)) {
    return true;
}

static void code_died(sm_code_entry *entry) {
    sm_life_code_died(entry->code);
}

static void look_away(sm_thread *Py_UNUSED(thread)) {
    sm_life_quiet(true);
}

static void look_again(sm_thread *Py_UNUSED(thread)) {
    sm_life_quiet(false);
}

static void stop(void) {
    sm_life_note_end();
}

static int calibrate(void) {
    return 0; /* no times are measured that the hook's own cost would be part of */
}

static void timed(const sm_function *Py_UNUSED(function), double sums[3]) {
    sums[0] = sums[1] = sums[2] = 0.0;
}

/* By line, and while nothing was lost, types have what their sites have together. */
static bool check_sums(void) {
    if (!sm_life.lines || sm_life.lost_sites + sm_life.lost_live + sm_life.sampled > 0)
        return true;
    uint64_t born = 0, gone = 0;
    for (uint32_t i = 1; i < sm_life.sites_count; i++) {
        const sm_life_site *site = &sm_life.sites[i];
        born += site->born;
        gone += site->died + sm_life.rests[i].unseen;
        if (site->born != site->died + sm_life.rests[i].unseen + site->live || site->died_by_gc > site->died)
            return false;
    }
    for (uint32_t i = 0; i < sm_life.types_count; i++) {
        born -= sm_life.types[i]->born;
        gone -= sm_life.types[i]->gone;
    }
    return born == 0 && gone == 0;
}

static bool check(void) {
    if (!sm_life.on)
        return true;
    bool right = sm_life_types_check() && check_sums();
    return right && (!sm_life.lines || (sm_live_check() && sm_life_sites_check()));
}

const sm_recorder sm_lifetimes = {.name = "lifetimes",
                                  .threadless = true,
                                  .start = start,
                                  .thread_start = thread_start,
                                  .thread_end = ignore_thread,
                                  .thread_again = thread_start,
                                  .settle = settle,
                                  .code_died = code_died,
                                  .poke = sm_life_poke,
                                  .pause = look_away,
                                  .go_on = look_again,
                                  .save = sm_lifetimes_save,
                                  .stop = stop,
                                  .forget = forget,
                                  .calibrate = calibrate,
                                  .timed = timed,
                                  .check = check};
