/* The memory of the objects recorder, for files of this folder only. */
#pragma once

#include "recorder/objects/events.h"

bool sm_objects_live_start(void);
void sm_objects_live_free(void);
bool sm_objects_live_check(void);
sm_objects_live_entry *sm_objects_live_find(uintptr_t address);

bool sm_objects_types_prepare(void);                   /* called once and outside events; false with an exception */
void sm_objects_type_gone(const PyTypeObject *object); /* called because its address may be reused */
void sm_objects_types_forget_keys(void);
void sm_objects_types_free(void);
bool sm_objects_types_check(void);

bool sm_objects_sites_start(void);
void sm_objects_code_died(const void *code);
void sm_objects_sites_forget_type(const PyTypeObject *object);
void sm_objects_sites_forget_keys(void);
void sm_objects_sites_free(void);
bool sm_objects_sites_check(void);

void sm_objects_times_start(void);

void sm_objects_collections_forget(void); /* rare_events.c */
#if SM_FREE_THREADED
void sm_objects_thaw(void);
#else
static inline void sm_objects_thaw(void) {}
#endif

/* state.c: which events are ignored. Guard: the GIL. */
typedef struct {
    bool busy;            /* events come from seismo, not from the program */
    uint32_t quiet;       /* sum of sm_objects_here.quiet over all threads */
    const PyObject *list; /* by type only: a list that the interpreter made to instrument code, or NULL */
} sm_objects_passed_state;
extern sm_objects_passed_state sm_objects_passed;
void sm_objects_set_busy(bool on);
void sm_objects_set_rare(void); /* called after a change; chooses the path of events */

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
