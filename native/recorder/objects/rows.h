/* From what the objects recorder kept to the rows of a recording. Shared by save.c and
 * survivors.c. */
#ifndef SM_RECORDER_OBJECTS_ROWS_H
#define SM_RECORDER_OBJECTS_ROWS_H

#include "hooks/reference_tracer.h"
#include "recorder/objects/objects.h"

/* Marks, holders, spans and what a save remembers, when a recording begins and when it is given up. */
void sm_objects_rows_start(void);
void sm_objects_rows_forget(void);

/* How the interpreter's slot fared since the recording began. */
sm_reference_facts sm_objects_slot_facts(void);

/* Finds span_live of the sites and live of the spans, and writes the pairs of both. Returns 0, or how many ticks old
 * what was found is, where it is too dear to count again. */
uint64_t sm_objects_count_survivors(sm_output *output);
void sm_objects_survivors_forget(void);
void sm_objects_write_spans(sm_output *output);

/* One more value for a sum that tells whether any of them has changed. */
static inline uint64_t sm_objects_mix(uint64_t sum, uint64_t value) {
    return (sum ^ value) * 0x9E3779B97F4A7C15u;
}

#endif
