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

static bool grow_tables(uint32_t id) {
    sm_line_table **grown = sm_grown_to(sm_lines.tables, id, &sm_lines.tables_size, sizeof *grown);
    sm_lines.tables = grown != NULL ? grown : sm_lines.tables;
    return grown != NULL;
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
    table->function = function;
    table->first = (int32_t)first;
    table->count = (uint32_t)count;
    table->awaits = (function->flags & (SM_FUNCTION_COROUTINE | SM_FUNCTION_ASYNC_GENERATOR)) != 0;
    return table;
}

sm_line_table *sm_lines_known(const void *code) {
    const sm_code_entry *entry = sm_code_entry_of_any(code);
    const sm_function *function = entry != NULL ? entry->function : NULL;
    return function != NULL && function->id < sm_lines.tables_size ? sm_lines.tables[function->id] : NULL;
}

sm_line_table *sm_lines_table(const void *code, PyObject *globals) {
    sm_line_table *known = sm_lines_known(code);
    if (SM_LIKELY(known != NULL))
        return known;
    PyObject *object = (PyObject *)(uintptr_t)code;
    if (!PyCode_Check(object))
        return NULL;
    sm_function *function = sm_function_of_code((PyCodeObject *)object, globals);
    if (function != NULL && function->left_out)
        return NULL;
    sm_line_table *table = NULL;
    sm_engine_lock();
    if (function != NULL && grow_tables(function->id)) {
        table = sm_lines.tables[function->id];
        if (table == NULL)
            table = sm_lines.tables[function->id] = new_table(function, (PyCodeObject *)object);
    }
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
    sm_line_block *block = sm_lines.blocks;
    if (block == NULL || block->used == SM_LINES_BLOCK) {
        size_t size = sizeof *block + SM_LINES_BLOCK * sizeof block->lines[0];
        block = sm_aligned(64, size);
        if (block == NULL)
            return NULL;
        memset(block, 0, size);
        block->next = sm_lines.blocks;
        __atomic_store_n(&sm_lines.blocks, block, __ATOMIC_RELEASE);
    }
    sm_line *line = &block->lines[block->used];
    line->table = table;
    line->number = number;
    line->id = sm_lines.lines_count++;
    __atomic_store_n(&block->used, block->used + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* events pass the line on to the sampler by plain stores */
    return line;
}

void sm_lines_add_elsewhere(void) {
    sm_function *function = sm_function_synthetic("<elsewhere>");
    if (function == NULL || !grow_tables(function->id))
        return;
    sm_line_table *table = sm_lines.tables[function->id] = sm_calloc(1, sizeof *table);
    if (table == NULL)
        return;
    table->function = function;
    sm_lines.elsewhere = new_line(table, 0);
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
    sm_line_place *places = sm_grown(table->places, table->places_count, &table->places_size, sizeof *places, 4);
    if (places == NULL)
        return line;
    table->places = places;
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

void sm_lines_free_thread(sm_lines_thread *state) {
    sm_free(state->entries);
    sm_awaits_free(&state->awaits);
    memset(state, 0, sizeof *state);
}

void sm_lines_free(void) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        sm_lines_free_thread(sm_lines_of(thread));
    }
    for (uint32_t i = 0; i < sm_lines.tables_size; i++) {
        sm_line_table *table = sm_lines.tables[i];
        if (table == NULL)
            continue;
        sm_free(table->places);
        sm_free(table);
    }
    for (sm_line_block *block = sm_lines.blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    sm_free(sm_lines.tables);
    memset(&sm_lines, 0, sizeof sm_lines);
}
