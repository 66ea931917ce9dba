/* The objects recorder's interface to the engine. */
#include <string.h>

#include "recorder/objects/store.h"

static void forget(void) {
    sm_objects_passed.list = NULL;
    sm_objects_live_free();
    sm_objects_sites_free();
    sm_objects_types_free();
    sm_free(sm_objects.times);
    sm_objects_rows_forget();
    memset(&sm_objects, 0, sizeof sm_objects);
    sm_objects_collections_forget();
}

static void code_died(sm_code_entry *entry) {
    if (sm_objects.on && sm_main.running)
        sm_objects_code_died(entry->code);
}

static void start(void) {
    forget();
    sm_codes_on_function_death(code_died);
    sm_objects.lines = sm_objects_chosen.by == SM_OBJECTS_BY_LINE;
    sm_objects.max_live = sm_objects_chosen.max_live;
    sm_objects.weight = 1;
    sm_objects_hot.unsampled = 0;
    sm_objects_hot.seed = sm_monotonic_ns() * 0x9E3779B97F4A7C15u;
    sm_objects_times_start();
    sm_objects.on =
        sm_objects_types_prepare() && (!sm_objects.lines || (sm_objects_live_start() && sm_objects_sites_start()));
    if (!sm_objects.on) { /* the recording has only its settings */
        PyErr_Clear();
        sm_main.lost_memory++;
    }
    sm_objects_set_rare();
    sm_objects_rows_start();
}

static void hold(sm_thread *Py_UNUSED(thread), bool on) {
    sm_objects_quiet(on);
}

static void wake(sm_thread *Py_UNUSED(thread)) {
    sm_objects_poke();
}

static void settle(bool Py_UNUSED(whole)) {
    sm_reference_poll();
    sm_objects_note_time();
}

static void end(bool forgotten) {
    if (forgotten)
        forget();
    else
        sm_objects_note_end();
}

/* By line, and while nothing was lost, types have what their sites have together. */
static bool check_sums(void) {
    if (!sm_objects.lines || sm_objects.lost_sites + sm_objects.lost_live + sm_objects.sampled > 0)
        return true;
    uint64_t born = 0, gone = 0;
    for (uint32_t i = 1; i < sm_objects.sites_count; i++) {
        const sm_objects_site *site = &sm_objects.sites[i];
        born += site->born;
        gone += site->died + sm_objects.rests[i].unseen;
        if (site->born != site->died + sm_objects.rests[i].unseen + site->live || site->died_by_gc > site->died)
            return false;
    }
    for (uint32_t i = 0; i < sm_objects.types.count; i++) {
        const sm_objects_type *type = sm_objects.types.records[i];
        born -= type->born;
        gone -= type->gone;
    }
    return born == 0 && gone == 0;
}

bool sm_objects_check(void) {
    if (!sm_objects.on)
        return true;
    bool right = sm_objects_types_check() && check_sums();
    return right && (!sm_objects.lines || (sm_objects_live_check() && sm_objects_sites_check()));
}

static const char *const ways[] = {"lines", "types", NULL};
static const sm_setting settings[] = {
    {"objects", SM_WORD, &sm_objects_chosen.by, SM_OBJECTS_BY_LINE, ways},
    {"max_live", SM_NUMBER, &sm_objects_chosen.max_live, 16000000, NULL},
    {NULL, SM_FLAG, NULL, 0, NULL},
};

const sm_recorder sm_objects_recorder = {
    .name = "lifetimes",
    .settings = settings,
    .without_gil = true,
    .start = start,
    .hold = hold,
    .wake = wake,
    .settle = settle,
    .save = sm_objects_save,
    .end = end,
};
