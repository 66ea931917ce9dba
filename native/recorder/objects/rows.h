/* The writing of the objects recorder's rows, shared by save.c and survivors.c. */
#pragma once

#include "hooks/reference_tracer.h"
#include "recorder/objects/objects.h"

/* Reset what a save remembers, at the start of a recording and when it is given up. */
void sm_objects_rows_start(void);
void sm_objects_rows_forget(void);

/* Return the facts of the interpreter's slot since the recording began. */
sm_reference_facts sm_objects_slot_facts(void);

/* Count span_live of the sites and live of the spans, and write their pairs. Return 0, or the age in ticks of the last
 * count, if another would be too expensive. */
uint64_t sm_objects_count_survivors(sm_output *output);
void sm_objects_survivors_forget(void);
void sm_objects_write_spans(sm_output *output);

/* Add a value to a sum that changes whenever one of its values does. */
static inline uint64_t sm_objects_mix(uint64_t sum, uint64_t value) {
    return (sum ^ value) * 0x9E3779B97F4A7C15u;
}
