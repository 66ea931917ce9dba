#include "recorder/objects/marks_and_holders.h"

#include "base/alloc.h"

sm_objects_notes_state sm_objects_notes;

bool sm_objects_add_mark(const char *name) {
    sm_objects_notes_state *notes = &sm_objects_notes;
    char *copy = sm_copy_chars(name);
    sm_engine_lock();
    bool made =
        copy != NULL && sm_grow(&notes->marks, notes->marks_count, &notes->marks_size, sizeof *notes->marks, 16);
    if (made)
        notes->marks[notes->marks_count++] =
            (sm_objects_mark){copy, sm_clock_read(&sm_engine.clock), sm_objects.births};
    sm_engine_unlock();
    sm_engine_stir(&sm_main);
    if (!made)
        sm_free(copy);
    return made;
}

bool sm_objects_add_holder(const sm_objects_holder *holder) {
    sm_objects_notes_state *notes = &sm_objects_notes;
    if (!sm_grow(&notes->holders, notes->holders_count, &notes->holders_size, sizeof *notes->holders, 16))
        return false;
    sm_objects_holder *row = &notes->holders[notes->holders_count];
    *row = *holder;
    row->holder = sm_copy_chars(holder->holder);
    row->by = sm_copy_chars(holder->by);
    if (row->holder == NULL || row->by == NULL) {
        sm_free(row->holder);
        sm_free(row->by);
        return false;
    }
    notes->holders_count++;
    return true;
}

static void free_holder(sm_objects_holder *holder) {
    sm_free(holder->holder);
    sm_free(holder->by);
}

void sm_objects_cut_holders(uint32_t count) {
    while (sm_objects_notes.holders_count > count)
        free_holder(&sm_objects_notes.holders[--sm_objects_notes.holders_count]);
}

/* Remove an object's holders. A parent is a holder of the same object, so the others keep theirs, with new numbers. */
bool sm_objects_drop_holders(uint32_t object) {
    sm_objects_notes_state *notes = &sm_objects_notes;
    uint32_t *moved = sm_malloc(notes->holders_count * sizeof *moved), left = 0;
    if (moved == NULL)
        return false;
    for (uint32_t i = 0; i < notes->holders_count; i++) {
        moved[i] = left;
        if (notes->holders[i].object == object)
            free_holder(&notes->holders[i]);
        else
            notes->holders[left++] = notes->holders[i];
    }
    for (uint32_t i = 0; i < left; i++) {
        if (notes->holders[i].parent >= 0)
            notes->holders[i].parent = moved[notes->holders[i].parent];
    }
    notes->holders_count = left;
    sm_free(moved);
    return true;
}

void sm_objects_notes_forget(void) {
    sm_objects_cut_holders(0);
    for (uint32_t i = 0; i < sm_objects_notes.marks_count; i++)
        sm_free(sm_objects_notes.marks[i].name);
    sm_free(sm_objects_notes.marks);
    sm_free(sm_objects_notes.holders);
    sm_objects_notes = (sm_objects_notes_state){0};
}
