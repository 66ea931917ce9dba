/* The rare events of the objects recorder, its start and its end.
 *
 * Collections: While the interpreter's flag says that it collects, events take the slow path. The first is assumed
 * to be on the collecting thread and begins the collection. Objects that were born before it and die on that thread
 * until the flag is cleared died by the collector. (Finalizers may let other threads run; deaths there come from
 * reference counts.) Events outside end a collection. By type only, the number of these deaths is estimated: deaths on
 * the thread, less the type's births within the collection. Without the GIL, other threads run meanwhile. But the
 * collector, with the world stopped, asks the core's module for its references, like every object, and so shows its
 * thread; an event there outside of collections ends that.
 *
 * Quiet threads: What seismo itself does on a thread is not recorded. By line, births there go to site 0, so that the
 * live table knows their deaths, and deaths of other objects there count as usual. By type only, neither births nor
 * deaths there are counted.
 *
 * Instrumentation: From 3.14 on, the first RESUME of code whose instrumentation is out of date makes and drops a list.
 * This happens in any process in which a tool has ever set events, as seismo does with call paths or spans. The list
 * belongs to the interpreter and must not count as the code's. It can be recognised exactly: it is a list that is born
 * at a RESUME of code whose version is not yet the current one. Collections and signals at a RESUME come later, when
 * the version is up to date.
 *
 * By line, such a list goes to site 0. By type only, its death must be recognised, too. The death is one of the next
 * events, so until it comes, all events of objects take the slow path, where the list's address is compared with that
 * of each object. */
#include <assert.h>
#include <string.h>

#include "compat/object_sizes.h"
#include "file/tables.h"
#include "recorder/objects/store.h"

static struct {
    /* Guard: the GIL. */
    const PyThreadState *thread; /* the thread that is assumed to collect */
    uint64_t id;
    uint64_t begin;  /* births before the collection */
    uint64_t events; /* births and deaths up to its last event */
    uint32_t number;
} collection;

static void quiet_birth(PyObject *object) {
    if (!sm_objects.lines)
        return;
    uint64_t hash;
    sm_objects_live_shard *shard = sm_objects_live_shard_of((uintptr_t)object, &hash);
    sm_objects_live_entry *home = &shard->entries[sm_objects_live_home(shard, (uintptr_t)object, hash)];
    sm_objects_live_put(shard, home, sm_objects_live_where((uintptr_t)object), sm_objects_what(0, sm_objects.births));
}

/* Move the object to site 0. By type only, take a death back, since the object's own will be counted. */
void sm_objects_unborn(const PyObject *object) {
    SM_OBJECTS_GUARD;
    if (!sm_objects.on || sm_objects_here.quiet > 0 || sm_is_immortal(object))
        return;
    if (!sm_objects.lines) {
        sm_objects_type *type = sm_objects_type_of(Py_TYPE(object));
        if (type != NULL && type->gone > 0) {
            type->born--, type->gone--;
            sm_objects.births--, sm_objects.deaths--;
        }
        return;
    }
    sm_objects_live_entry *entry = sm_objects_live_find((uintptr_t)object);
    uint64_t number = entry != NULL ? entry->what >> SM_OBJECTS_SERIAL_BITS : 0;
    if (number == 0 || (entry->where & 1) != 0)
        return;
    sm_objects_site *site = &sm_objects.sites[number];
    uint64_t serial = sm_objects_whole_serial(entry->what);
    site->born--, site->live--, site->type->born--;
    if (site->born == 0)
        site->peak = 0;
    if (sm_objects_live_span(entry) != 0)
        sm_objects_span_unborn(site, sm_objects_live_span(entry), serial);
    if (serial == sm_objects.births) /* no birth followed it */
        sm_objects.births--;
    else
        sm_objects.unborn++;
    entry->where &= ~(uint64_t)((1 << (SM_OBJECTS_SPAN_BITS + 1)) - 1);
    entry->what = sm_objects_what(0, sm_objects.births);
}

#if SM_FREE_THREADED
static PyObject *asked; /* borrowed; atomic: the core's module, which is never freed */

/* gc.freeze() would hide the module from the collector: take that back for it. */
void sm_objects_thaw(void) {
    enum { FROZEN = 1 << 3 };
    PyObject *module = __atomic_load_n(&asked, __ATOMIC_RELAXED);
    if (module != NULL && (__atomic_load_n(&module->ob_gc_bits, __ATOMIC_RELAXED) & FROZEN) != 0)
        __atomic_fetch_and(&module->ob_gc_bits, (uint8_t)~FROZEN, __ATOMIC_RELAXED);
}

void sm_objects_collector_asks(PyObject *module) {
    __atomic_store_n(&asked, module, __ATOMIC_RELAXED);
    sm_objects_here.collects = sm_reference_is_collecting();
    collection.begin = sm_objects.births;
    collection.number++;
}
#endif

/* Return true if this event is on the thread of a running collection. */
static bool is_collectors(const PyThreadState *tstate) {
    if (!sm_reference_is_collecting())
        return false;
    if (SM_FREE_THREADED)
        return sm_objects_here.collects;
    if (collection.thread == NULL || collection.events != sm_objects.births + sm_objects.deaths) {
        collection.thread = tstate;
        collection.id = sm_tstate_id(tstate);
        collection.begin = sm_objects.births;
        collection.number++;
    }
    return collection.thread == tstate && collection.id == sm_tstate_id(tstate);
}

static void collected_by_line(PyObject *object) {
    const sm_objects_live_entry *entry = sm_objects_live_find((uintptr_t)object);
    uint64_t number = entry != NULL ? entry->what >> SM_OBJECTS_SERIAL_BITS : 0;
    if (number == 0 || (entry->where & 1) != 0 || sm_objects_whole_serial(entry->what) > collection.begin)
        return;
    sm_objects_site *site = &sm_objects.sites[number];
    site->died_by_gc += sm_objects.weight;
    site->type->died_by_gc += sm_objects.weight;
    if (sm_objects.weight > 1)
        site->type->flags |= SM_TYPE_FLAG_ESTIMATED;
}

static void collecting_by_type(PyObject *object, bool born) {
    sm_objects_type *type = sm_objects_type_of(Py_TYPE(object));
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

void sm_objects_collections_forget(void) {
    memset(&collection, 0, sizeof collection);
}

/* ---- events on the slow path ---- */

void sm_objects_rare(PyObject *object, sm_reference_event event, PyThreadState *tstate, const void *node) {
    assert(object != NULL);
    if (sm_objects_passed.busy || !sm_objects.on)
        return;
    bool born = event == SM_REFERENCE_CREATE, collectors = is_collectors(tstate);
    if (object == sm_objects_passed.list) { /* a birth means that the list's death was not reported */
        sm_objects_pass_over(NULL);
        if (!born)
            return;
    }
    bool quiet = sm_objects_here.quiet > 0 || sm_is_apart(&sm_main.apart, tstate);
    if (quiet && (born || !sm_objects.lines)) {
        if (born)
            quiet_birth(object);
        else if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS)
            sm_objects_type_gone((PyTypeObject *)object);
    } else if (sm_objects.lines) {
        if (collectors && !born)
            collected_by_line(object);
        if (born)
            sm_objects_born_by_line(object, tstate, node);
        else
            sm_objects_died_by_line(object);
    } else {
        if (collectors)
            collecting_by_type(object, born);
        if (born)
            sm_objects_born_by_type(object, tstate);
        else
            sm_objects_died_by_type(object);
    }
    if (collectors || sm_reference_is_collecting())
        collection.events = sm_objects.births + sm_objects.deaths;
}

void sm_objects_blind(void) { /* types and code objects may die without an event */
    sm_objects_types_forget_keys();
    sm_objects_sites_forget_keys();
}

static void count_items(PyObject *object, sm_objects_type *type, uint64_t weight, sm_objects_site *site) {
    uint64_t bytes = sm_item_bytes(object, (sm_items)type->items, type->item_size);
    type->item_bytes += bytes;
    if (site != NULL)
        site->item_bytes += bytes * weight;
}

void sm_objects_key_died(PyObject *object) {
    if (SM_FREE_THREADED && PyCode_Check(object))
        sm_objects_code_died(object);
    if (!PyType_Check(object))
        return;
    sm_objects_type_gone((PyTypeObject *)object);
    if (sm_objects.lines)
        sm_objects_sites_forget_type((PyTypeObject *)object);
}

void sm_objects_special_type_death(PyObject *object, sm_objects_type *type) {
    if (type->special & SM_OBJECTS_HAS_ITEMS)
        count_items(object, type, 1, NULL);
    if (type->special & SM_OBJECTS_IS_KEY)
        sm_objects_key_died(object);
}

bool sm_objects_special_death(PyObject *object, sm_objects_live_entry *entry) {
    sm_objects_site *site = &sm_objects.sites[entry->what >> SM_OBJECTS_SERIAL_BITS];
    sm_objects_type *type = site->type;
    if (type->special & SM_OBJECTS_HAS_ITEMS)
        count_items(object, type, sm_objects.weight, site);
    if (type->special & SM_OBJECTS_IS_KEY)
        sm_objects_key_died(object);
    if (!(type->special & SM_OBJECTS_MAY_RESURRECT))
        return false;
    if (entry->where & 1) {
        type->resurrected++;
    } else {
        sm_objects_count_death(entry, sm_objects.weight);
        entry->where |= 1;
    }
    return true;
}

void sm_objects_live_unknown(PyObject *object) {
    if (sm_objects_here.quiet > 0) {
        sm_objects_key_died(object);
        return;
    }
    sm_objects_type *type = sm_objects_type_of(Py_TYPE(object));
    if (type == NULL)
        return;
    if (type->untracked > 0) {
        type->untracked--;
        type->gone++;
        sm_objects.deaths++;
    } else {
        type->before++;
    }
    if (type->special & SM_OBJECTS_IS_KEY)
        sm_objects_key_died(object);
}
