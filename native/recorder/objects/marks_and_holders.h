/* Rows that Python code adds to a recording of objects: marks, and the holders of survivors. Guard: the GIL. */
#pragma once

#include "recorder/objects/objects.h"

typedef struct {
    char *name; /* owned; UTF-8 */
    uint64_t ticks, born;
} sm_objects_mark;

typedef struct {
    uint32_t object;
    int64_t parent; /* a row, or -1 */
    uint32_t flags;
    uint64_t count, asked;
    char *holder, *by;
} sm_objects_holder;

typedef struct {
    sm_objects_mark *marks; /* owned; changed with the engine's lock, too, like its size */
    uint32_t marks_count, marks_size;
    sm_objects_holder *holders; /* owned; saved only with the GIL */
    uint32_t holders_count, holders_size;
} sm_objects_notes_state;

extern sm_objects_notes_state sm_objects_notes;

/* Copy the text. Return false if out of memory. */
bool sm_objects_add_mark(const char *name);
bool sm_objects_add_holder(const sm_objects_holder *holder);
bool sm_objects_drop_holders(uint32_t object); /* removes an object's holders, before others replace them */
void sm_objects_cut_holders(uint32_t count);   /* keeps the first `count` */

void sm_objects_notes_forget(void);
