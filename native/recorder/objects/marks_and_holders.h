/* What Python adds to a recording of objects: marks, and who holds survivors. With the GIL. */
#ifndef SM_RECORDER_OBJECTS_MARKS_AND_HOLDERS_H
#define SM_RECORDER_OBJECTS_MARKS_AND_HOLDERS_H

#include "recorder/objects/objects.h"

typedef struct {
    char *name; /* owned; UTF-8 */
    uint64_t ticks, born;
} sm_objects_mark;

typedef struct { /* as in the file */
    uint32_t object;
    int64_t parent; /* a row, or -1 */
    uint32_t flags;
    uint64_t count, asked;
    char *holder, *by; /* owned; UTF-8 */
} sm_objects_holder;

typedef struct {            /* guard: the GIL, and what is said */
    sm_objects_mark *marks; /* owned; these three with the engine's lock as well */
    uint32_t marks_count, marks_size;
    sm_objects_holder *holders; /* owned; saved with the GIL alone */
    uint32_t holders_count, holders_size;
} sm_objects_notes_state;

extern sm_objects_notes_state sm_objects_notes;

/* False: out of memory. Text is copied. */
bool sm_objects_add_mark(const char *name);
bool sm_objects_add_holder(const sm_objects_holder *holder);
bool sm_objects_drop_holders(uint32_t object); /* what was said of it, for others to take the place */
void sm_objects_cut_holders(uint32_t count);   /* leaves the first so many */

void sm_objects_notes_forget(void);

#endif
