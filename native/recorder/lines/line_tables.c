/* Tables of lines. A table covers the range of the function's line table, which is not trusted: a range far larger than
 * the code could fill is cut, and lines outside it are kept in a list. Only lines that are hit take memory. */
#include "recorder/lines/line_tables.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "code/linewalk.h"

sm_lines_state sm_lines;

#define MOST_OUTSIDE 1000

static void find_range(PyCodeObject *code, int64_t *first, int64_t *last) {
    sm_line_walk walk = sm_line_walk_of(code);
    *first = *last = code->co_firstlineno;
    while (sm_line_next(&walk)) {
        if (!walk.has_line)
            continue;
        *first = walk.line < *first ? walk.line : *first;
        *last = walk.line > *last ? walk.line : *last;
    }
}

static sm_line_table *new_table(sm_function *function, PyCodeObject *code) {
    int64_t first, last;
    find_range(code, &first, &last);
    int64_t most = (int64_t)Py_SIZE(code) * 8 + 1024;
    if (first < 0 || first > INT32_MAX)
        first = 0;
    int64_t count = last - first + 1;
    if (count < 1 || count > most)
        count = count < 1 ? 1 : most;
    sm_line_table *table = sm_calloc(1, sizeof *table + (size_t)count * sizeof table->lines[0]);
    if (table == NULL)
        return NULL;
    table->first = (int32_t)first;
    table->count = (uint32_t)count;
    table->awaits = (function->flags & (SM_FUNCTION_COROUTINE | SM_FUNCTION_ASYNC_GENERATOR)) != 0;
    return table;
}

sm_line_table *sm_lines_known(const sm_line_store *store, const void *code) {
    const sm_code_entry *entry = sm_code_entry_of_any(code);
    const sm_function *function = entry != NULL ? __atomic_load_n(&entry->function, __ATOMIC_ACQUIRE) : NULL;
    return function != NULL && function->id < store->tables_size ? store->tables[function->id] : NULL;
}

/* Return the function's table in a store, made if necessary, or NULL if out of memory. With the engine's lock. */
static sm_line_table *table_in(sm_line_store *store, sm_function *function, PyCodeObject *code) {
    if (!sm_grow_to(&store->tables, function->id, &store->tables_size, sizeof *store->tables))
        return NULL;
    sm_line_table **place = &store->tables[function->id];
    sm_line_table *home = store != &sm_lines.store ? table_in(&sm_lines.store, function, code) : NULL;
    if (*place != NULL || (store != &sm_lines.store && home == NULL))
        return *place;
    sm_line_table *table = code != NULL ? new_table(function, code) : sm_calloc(1, sizeof *table);
    if (table != NULL) {
        table->function = function;
        table->store = store;
        table->home = home;
    }
    return *place = table;
}

sm_line_table *sm_lines_table(sm_line_store *store, const void *code, PyObject *globals) {
    sm_line_table *known = sm_lines_known(store, code);
    if (SM_LIKELY(known != NULL))
        return known;
    SM_EVENT_GUARD;
    PyObject *object = (PyObject *)(uintptr_t)code;
    if (!PyCode_Check(object))
        return NULL;
    sm_function *function = sm_function_of_code((PyCodeObject *)object, globals);
    if (function != NULL && function->left_out)
        return NULL;
    sm_engine_lock();
    sm_line_table *table = function != NULL ? table_in(store, function, (PyCodeObject *)object) : NULL;
    sm_engine_unlock();
    if (table == NULL)
        sm_main.lost_memory++;
    return table;
}

bool sm_lines_hides(const void *code) {
    PyObject *object = (PyObject *)(uintptr_t)code;
    if (!PyCode_Check(object))
        return true; /* Cython and others may report code-like objects of their own */
    const sm_function *function = sm_function_of_code((PyCodeObject *)object, PyEval_GetGlobals());
    return function != NULL && function->left_out;
}

bool sm_lines_wants(PyObject *code, PyObject *globals) {
    if (!PyCode_Check(code))
        return false;
    const sm_function *function = sm_function_of_code((PyCodeObject *)code, globals);
    return function != NULL && !function->left_out;
}

static sm_line *new_line(sm_line_table *table, int number) {
    SM_EVENT_GUARD;
    sm_line_store *store = table->store;
    sm_line *home = table->home != NULL ? sm_lines_at(table->home, number) : NULL;
    if (table->home != NULL && home == NULL)
        return NULL;
    sm_line_block *block = store->blocks;
    if (block == NULL || block->used == SM_LINES_BLOCK) {
        size_t size = sizeof *block + SM_LINES_BLOCK * sizeof block->lines[0];
        block = sm_aligned(64, size);
        if (block == NULL)
            return NULL;
        memset(block, 0, size);
        block->next = store->blocks;
        __atomic_store_n(&store->blocks, block, __ATOMIC_RELEASE);
    }
    sm_line *line = &block->lines[block->used];
    line->table = table;
    line->number = number;
#if SM_FREE_THREADED
    line->home = home;
#endif
    line->id = home != NULL ? home->id : sm_lines.lines_count;
    __atomic_store_n(&block->used, block->used + 1, __ATOMIC_RELEASE);
    if (home == NULL)
        __atomic_store_n(&sm_lines.lines_count, line->id + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* events pass the line on to the sampler by plain stores */
    return line;
}

void sm_lines_add_elsewhere(sm_line_store *store) {
    sm_function *function = sm_function_synthetic("<elsewhere>");
    sm_line_table *table = function != NULL ? table_in(store, function, NULL) : NULL;
    store->elsewhere = table != NULL ? sm_lines_at(table, 0) : NULL;
}

static sm_line *outside(sm_line_table *table, int number) {
    uint32_t count = 0;
    sm_line **link = &table->outside;
    for (; *link != NULL; link = &(*link)->next_elsewhere, count++) {
        if ((*link)->number == number || count == MOST_OUTSIDE) {
            sm_lines.outside += count == MOST_OUTSIDE;
            return *link;
        }
    }
    return *link = new_line(table, number);
}

sm_line *sm_lines_at(sm_line_table *table, int number) {
    assert(table != NULL);
    uint32_t index = (uint32_t)number - (uint32_t)table->first;
    sm_line *line;
    if (index >= table->count)
        line = outside(table, number);
    else if (table->lines[index] != NULL)
        line = table->lines[index];
    else
        line = table->lines[index] = new_line(table, number);
    if (line == NULL)
        sm_main.lost_memory++;
    return line;
}

sm_line *sm_lines_place(sm_line_table *table, const void *code, int offset) {
    for (uint32_t i = 0; i < table->places_count; i++) {
        if (table->places[i].offset == offset)
            return table->places[i].line;
    }
    int number = offset < 0 ? -1 : PyCode_Addr2Line((PyCodeObject *)(uintptr_t)code, offset);
    if (number < 0) /* The instruction has no line; take the function's first one. */
        number = ((const PyCodeObject *)code)->co_firstlineno;
    sm_line *line = sm_lines_at(table, number);
    if (line == NULL || table->places_count == 64) /* further places are looked up each time */
        return line;
    if (sm_grow(&table->places, table->places_count, &table->places_size, sizeof *table->places, 4))
        table->places[table->places_count++] = (sm_line_place){offset, line};
    return line;
}

bool sm_lines_reserve(sm_lines_thread *state, uint32_t number) {
    if (number < state->size)
        return true;
    uint32_t size = state->size > 0 ? state->size : 64;
    while (size <= number && size <= UINT32_MAX / 4)
        size *= 2;
    sm_sampler_lock(); /* the sampler reads the entries */
    sm_line_entry *grown = number < size ? sm_realloc(state->entries, size * sizeof *grown) : NULL;
    if (grown != NULL) {
        memset(grown + state->size, 0, (size - state->size) * sizeof *grown);
        state->entries = grown;
        state->size = size;
        state->open = state->open != 0 ? size : 0;
    }
    sm_sampler_unlock();
    sm_main.lost_memory += grown == NULL;
    return grown != NULL;
}

void sm_line_add(sm_line *to, const sm_line *from) {
    to->hits += __atomic_load_n(&from->hits, __ATOMIC_RELAXED);
    to->awaits += __atomic_load_n(&from->awaits, __ATOMIC_RELAXED);
    to->await_ticks += __atomic_load_n(&from->await_ticks, __ATOMIC_RELAXED);
    to->looks += from->looks;
    to->ticks += from->ticks;
    to->square += from->square;
    to->inner += from->inner;
    to->inner_square += from->inner_square;
    sm_off_add(&to->off, &from->off);
    to->off_square += from->off_square;
}

static void free_store(sm_line_store *store) {
    for (uint32_t i = 0; i < store->tables_size; i++) {
        sm_line_table *table = store->tables[i];
        if (table == NULL)
            continue;
        sm_free(table->places);
        sm_free(table);
    }
    for (sm_line_block *block = store->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    sm_free(store->tables);
    memset(store, 0, sizeof *store);
}

void sm_lines_free_thread(sm_lines_thread *state) {
    sm_free(state->entries);
    sm_map_free(&state->awaits);
#if SM_FREE_THREADED
    free_store(&state->store);
#endif
    memset(state, 0, sizeof *state);
}

void sm_lines_free(void) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        sm_lines_free_thread(sm_lines_of(thread));
    }
    free_store(&sm_lines.store);
    memset(&sm_lines, 0, sizeof sm_lines);
}
