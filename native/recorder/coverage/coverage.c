#include "recorder/coverage/coverage.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "code/linewalk.h"
#include "code/text.h"
#include "filter/filter.h"
#include "recorder/coverage/store.h"

static sm_cover_code the_unwanted; /* never changed */
sm_cover_code *const sm_cover_unwanted = &the_unwanted;

/* Limit on the distance from the lowest line, since a wrong line table may have any. */
enum { MOST_LINES = 1 << 22 };

static bool lines_of(PyCodeObject *code, int64_t *first, int64_t *last) {
    *first = INT64_MAX;
    *last = 0;
    for (sm_line_walk walk = sm_line_walk_of(code); sm_line_next(&walk);) {
        if (!walk.has_line || walk.line < 1 || walk.line > INT32_MAX)
            continue;
        *first = walk.line < *first ? walk.line : *first;
        *last = walk.line > *last ? walk.line : *last;
    }
    return *last > 0;
}

static void free_function(sm_cover_function *of) {
    sm_free(of->lines);
    sm_free(of->counts);
    sm_free(of->saved);
    sm_branches_free(of->table);
    sm_free(of->jumps);
    sm_free(of->steps);
    sm_free(of->steps_index);
    sm_free(of);
}

static sm_cover_function *new_function(const sm_function *function, PyCodeObject *code) {
    int64_t first, last;
    sm_cover_function *of = sm_calloc(1, sizeof *of);
    if (of == NULL)
        return NULL;
    of->function = function;
    if (lines_of(code, &first, &last)) {
        of->first = (int)first;
        of->size = (uint32_t)(last - first + 1 < MOST_LINES ? last - first + 1 : MOST_LINES);
    }
    of->lines = sm_calloc(of->size, sizeof *of->lines);
    if (sm_cover.counts) {
        of->counts = sm_calloc(of->size, sizeof *of->counts);
        of->saved = sm_calloc(of->size, sizeof *of->saved);
    }
    if (of->lines == NULL || (sm_cover.counts && (of->counts == NULL || of->saved == NULL))) {
        free_function(of);
        return NULL;
    }
    for (sm_line_walk walk = sm_line_walk_of(code); sm_line_next(&walk);) {
        if (walk.has_line && walk.line >= of->first && walk.line - of->first < of->size)
            of->lines[walk.line - of->first].stamp = SM_COVER_FRESH;
    }
    return of;
}

static sm_cover_function *function_of(const sm_function *function, PyCodeObject *code) {
    sm_cover_store_state *store = &sm_cover_store;
    if (function->id < store->by_id_size && store->by_id[function->id] != NULL)
        return store->by_id[function->id];
    sm_cover_function *of = new_function(function, code);
    if (of == NULL)
        return NULL;
    sm_engine_lock();
    bool room = sm_grow_to(&store->by_id, function->id, &store->by_id_size, sizeof *store->by_id);
    if (room) {
        store->by_id[function->id] = of;
        store->functions_count++;
        of->next = store->functions;
        store->functions = of;
    }
    sm_engine_unlock();
    if (!room) {
        free_function(of);
        return NULL;
    }
    return of;
}

void sm_cover_forget(void) {
    sm_cover_store_state *store = &sm_cover_store;
    while (store->functions != NULL) {
        sm_cover_function *of = store->functions;
        store->functions = of->next;
        free_function(of);
    }
    SM_CLEAR(store->by_id);
    store->by_id_size = store->functions_count = 0;
}

static bool is_test(PyCodeObject *code) { /* as coverage.py's dynamic_context = test_function */
    PyObject *name = code->co_name;
    if (!PyUnicode_Check(name) || PyUnicode_GET_LENGTH(name) < 4)
        return false;
    static const char head[] = "test";
    for (int i = 0; i < 4; i++) {
        if (PyUnicode_READ_CHAR(name, i) != (Py_UCS4)head[i])
            return PyUnicode_CompareWithASCIIString(name, "runTest") == 0;
    }
    return true;
}

static bool is_wanted(const sm_function *function, PyCodeObject *code) {
    if (function->hidden || sm_text_lists(sm_cover_store.hide, function->file))
        return false;
    const sm_filter *where = sm_cover_store.where;
    return where == NULL || (sm_filter_of_code(where, function, code).yes & SM_EVENT_BIT(SM_EVENT_CALL)) != 0;
}

static void link_code(sm_cover_code *record) {
    record->next = sm_cover.codes;
    record->link = &sm_cover.codes;
    if (record->next != NULL)
        record->next->link = &record->next;
    sm_cover.codes = record;
}

static void unlink_code(sm_cover_code *record) {
    sm_cover_switched_on(record);
    *record->link = record->next;
    if (record->next != NULL)
        record->next->link = record->link;
}

sm_cover_code *sm_cover_meet(PyCodeObject *code, PyObject *globals) {
    SM_CORE_GUARD;
    assert(PyCode_Check(code) && PyGILState_Check());
    if (!sm_beside.running)
        return NULL;
    const sm_function *function = sm_function_of_code(code, globals);
    sm_code_entry *entry = sm_code_entry_of(code);
    if (function == NULL || entry == NULL) {
        sm_beside.lost_memory++;
        return NULL;
    }
    sm_cover_code *known = sm_cover_known(code);
    if (known != NULL)
        return known == sm_cover_unwanted ? NULL : known;
    bool wanted = is_wanted(function, code), test = sm_cover.tests && is_test(code);
    if (!wanted && !test) {
        __atomic_store_n(&entry->of[SM_CODE_COVERAGE], sm_cover.unwanted, __ATOMIC_RELEASE);
        return NULL;
    }
    sm_cover_function *of = wanted ? function_of(function, code) : NULL;
    sm_cover_code *record = wanted && of == NULL ? NULL : sm_calloc(1, sizeof *record);
    if (record == NULL) {
        sm_beside.lost_memory++;
        return NULL;
    }
    record->of = of;
    record->code = code;
    record->test = test;
    if (of != NULL) {
        record->first = of->first;
        record->size = of->size;
        record->counts = of->counts;
        if (sm_cover.branch && sm_cover.source->both_ways && sm_cover_table(of, code))
            record->line_events = !sm_cover.counts && of->table->line_events_count != 0;
    }
    link_code(record);
    return record;
}

void sm_cover_publish(sm_cover_code *record) {
    __atomic_store_n(&sm_code_entry_of(record->code)->of[SM_CODE_COVERAGE], record, __ATOMIC_RELEASE);
}

void sm_cover_code_died(sm_code_entry *entry) {
    sm_cover_code *record = entry->of[SM_CODE_COVERAGE];
    if (((uintptr_t)record & 1) != 0)
        return;
    if (sm_cover.source->died != NULL)
        sm_cover.source->died(record);
    unlink_code(record);
    sm_free(record);
}

void sm_cover_release_codes(void) {
    while (sm_cover.codes != NULL) {
        sm_cover_code *record = sm_cover.codes;
        if (sm_cover.source->died != NULL)
            sm_cover.source->died(record);
        unlink_code(record);
        sm_code_entry_of(record->code)->of[SM_CODE_COVERAGE] = NULL;
        sm_free(record);
    }
}

bool sm_cover_line_news(sm_cover_code *code, int line) {
    assert(code != NULL && code != sm_cover_unwanted);
    if (SM_UNLIKELY(!sm_beside.running || sm_beside.forked))
        return false;
    sm_cover_function *of = code->of;
    uint32_t i = (uint32_t)line - (uint32_t)code->first;
    if (of == NULL || i >= code->size) {
        if (of != NULL && line > 0) /* an empty module is at line 0 */
            SM_COUNT(sm_cover.odd_lines);
        return !sm_cover.counts;
    }
    sm_engine_lock();
    sm_cover_hit(of, &of->lines[i], SM_COVER_LINES);
    sm_engine_unlock();
    return sm_cover_after_news(code);
}

/* ---- contexts ---- */

static char *copied(const char *name) { /* NULL: of an empty name, or out of memory */
    char *copy = *name != '\0' ? sm_copy_chars(name) : NULL;
    if (copy == NULL && *name != '\0')
        SM_COUNT(sm_beside.lost_memory);
    return copy;
}

static void switch_context(const char *name) {
    sm_cover_store_state *store = &sm_cover_store;
    const char *now = store->context_name != NULL ? store->context_name : "";
    if (strcmp(now, name) == 0)
        return;
    char *copy = copied(name);
    sm_engine_lock();
    sm_cover_end_context();
    sm_free(store->context_name);
    store->context_name = copy;
    store->context = 0;
    sm_cover_new_stamp();
    sm_engine_unlock();
    if (sm_beside.forked)
        return;
    if (!sm_cover.in_contexts) {
        __atomic_store_n(&sm_cover.in_contexts, true, __ATOMIC_RELAXED);
        sm_core_drain(); /* of events that disable a place */
        if (sm_cover.source->contexts != NULL)
            sm_cover.source->contexts();
    }
    sm_cover_rearm();
}

void sm_cover_context(const char *name) {
    SM_CORE_GUARD;
    assert(name != NULL && PyGILState_Check());
    if (!sm_beside.running)
        return;
    sm_cover.test = NULL;
    sm_free(sm_cover_store.given_name);
    sm_cover_store.given_name = copied(name);
    switch_context(name);
}

/* Return GIVEN|MODULE.QUALNAME, as coverage.py names a test's context, or NULL if out of memory. */
static char *name_of_test(const sm_function *function) {
    const char *given = sm_cover_store.given_name != NULL ? sm_cover_store.given_name : "";
    const char *parts[] = {given, *given != '\0' ? "|" : "", function->module, *function->module != '\0' ? "." : "",
                           function->qualname};
    size_t size = 1, count = sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count; i++)
        size += strlen(parts[i]);
    char *name = sm_malloc(size);
    char *end = name;
    for (size_t i = 0; name != NULL && i < count; i++) {
        size_t length = strlen(parts[i]);
        memcpy(end, parts[i], length + 1);
        end += length;
    }
    return name;
}

void sm_cover_enter(sm_cover_code *code, const void *frame) {
    SM_CORE_GUARD;
    assert(code->test && frame != NULL);
    if (sm_cover.test != NULL)
        return;
    char *name = name_of_test(sm_code_entry_of(code->code)->function);
    if (name == NULL) {
        sm_beside.lost_memory++;
        return;
    }
    sm_cover.test = frame;
    switch_context(name);
    sm_free(name);
}

void sm_cover_leave(const void *frame) {
    SM_CORE_GUARD;
    assert(frame != NULL);
    if (sm_cover.test != frame)
        return;
    sm_cover.test = NULL;
    switch_context(sm_cover_store.given_name != NULL ? sm_cover_store.given_name : "");
}

static bool check_function(const sm_cover_function *of) {
    const sm_cover_store_state *store = &sm_cover_store;
    for (uint32_t i = 0; i < of->size; i++) {
        if (of->lines[i].row > store->rows[SM_COVER_LINES] || of->lines[i].stamp > sm_cover.stamp)
            return false;
        if (of->counts != NULL && of->counts[i] < of->saved[i])
            return false;
    }
    return store->by_id[of->function->id] == of && sm_cover_check_branches(of);
}

bool sm_cover_check(void) {
    uint32_t functions = 0;
    for (const sm_cover_function *of = sm_cover_store.functions; of != NULL; of = of->next, functions++) {
        if (!check_function(of))
            return false;
    }
    uint64_t off = 0, marked = 0;
    for (sm_cover_code *const *link = &sm_cover.codes; *link != NULL; link = &(*link)->next) {
        const sm_cover_code *record = *link;
        const sm_code_entry *entry = sm_code_entry_of(record->code);
        if (record->link != link || entry == NULL || entry->of[SM_CODE_COVERAGE] != record)
            return false;
        if (record->of != NULL && (record->first != record->of->first || record->size != record->of->size))
            return false;
        marked += record->off;
    }
    for (sm_cover_code *const *link = &sm_cover.off; *link != NULL; link = &(*link)->next_off, off++) {
        if ((*link)->link_off != link || !(*link)->off)
            return false;
    }
    return functions == sm_cover_store.functions_count && off == marked;
}
