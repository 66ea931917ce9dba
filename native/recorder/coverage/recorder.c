/* The coverage recorder, as the engine sees it. */
#include "base/alloc.h"
#include "code/text.h"
#include "filter/filter.h"
#include "recorder/coverage/coverage.h"
#include "recorder/coverage/store.h"

static void begin(void) {
    static uint32_t session; /* guarded by the GIL */
    sm_cover_store_state *store = &sm_cover_store;
    sm_cover.in_contexts = sm_cover.tests;
    sm_cover.stamp = SM_COVER_FIRST_STAMP;
    sm_cover.test = NULL;
    sm_cover.unwanted = (void *)((uintptr_t)++session << 1 | 1);
    sm_filter *before = store->where;
    store->where = sm_filter_hold(sm_beside.settings.where);
    sm_filter_release(before);
    sm_replace_chars(&store->hide, sm_beside.settings.hide);
    sm_free(store->context_name);
    sm_free(store->given_name);
    store->context_name = store->given_name = NULL;
    store->rearmed = 0;
}

static void forget_hits(sm_cover_function *of) {
    for (uint32_t i = 0; i < of->size; i++) {
        of->lines[i].row = 0;
        of->lines[i].stamp = of->lines[i].stamp != SM_COVER_NO_LINE ? SM_COVER_FRESH : SM_COVER_NO_LINE;
        if (of->counts != NULL)
            of->counts[i] = of->saved[i] = 0;
    }
    for (uint32_t i = 0; i < of->steps_count; i++) {
        sm_cover_step *step = &of->steps[i];
        *step = (sm_cover_step){.from = step->from, .to = step->to, .place.stamp = SM_COVER_FRESH};
    }
    for (uint32_t i = 0; of->table != NULL && i < of->table->count; i++) {
        sm_cover_jump *jump = &of->jumps[i];
        *jump = (sm_cover_jump){.step = {jump->step[0], jump->step[1]}};
    }
    sm_cover_number_jumps(of);
}

/* A forked child keeps its code, which the source goes on to report, and its context. */
static void start(void) {
    sm_codes_on_death(SM_CODE_COVERAGE, sm_cover_code_died);
    sm_cover_forget_contexts();
    sm_cover.odd_lines = sm_cover.odd_branches = 0;
    for (int table = 0; table < SM_COVER_TABLES; table++)
        sm_cover_store.rows[table] = sm_cover_store.saved[table] = 0;
    if (!sm_beside.running) {
        sm_cover_forget();
        begin();
        return;
    }
    for (sm_cover_function *of = sm_cover_store.functions; of != NULL; of = of->next)
        forget_hits(of);
    sm_cover_new_stamp();
}

static void end(bool forget) {
    sm_cover.test = NULL;
    sm_cover_release_codes();
    if (forget)
        sm_cover_forget();
}

sm_cover_facts sm_cover_status(void) {
    SM_CORE_GUARD;
    const sm_cover_store_state *store = &sm_cover_store;
    sm_cover_facts facts = {.functions = store->functions_count,
                            .lines = store->rows[SM_COVER_LINES],
                            .steps = store->rows[SM_COVER_STEPS],
                            .branches = store->rows[SM_COVER_BRANCHES],
                            .contexts = store->contexts,
                            .rearmed = store->rearmed};
    for (const sm_cover_code *record = sm_cover.codes; record != NULL; record = record->next)
        facts.codes++;
    return facts;
}

uint64_t sm_cover_executed(void) {
    SM_CORE_GUARD;
    uint64_t sum = 0;
    for (const sm_cover_function *of = sm_cover_store.functions; of != NULL; of = of->next)
        for (uint32_t i = 0; of->counts != NULL && i < of->size; i++)
            sum += __atomic_load_n(&of->counts[i], __ATOMIC_RELAXED);
    return sum;
}

static const sm_setting settings[] = {
    {"branch", SM_FLAG, &sm_cover.branch, false, NULL},
    {"counts", SM_FLAG, &sm_cover.counts, false, NULL},
    {"tests", SM_FLAG, &sm_cover.tests, false, NULL},
    {NULL, SM_FLAG, NULL, 0, NULL},
};

const sm_recorder sm_cover_recorder = {
    .name = "coverage",
    .settings = settings,
    .beside = true,
    .without_gil = true,
    .keeps_sources = true,
    .start = start,
    .has_news = sm_cover_has_news,
    .save = sm_cover_save,
    .carry = sm_cover_carry_contexts,
    .end = end,
};
