/* The objects recorder's memory. Shared by the files of this folder only. */
#ifndef SM_RECORDER_OBJECTS_STORE_H
#define SM_RECORDER_OBJECTS_STORE_H

#include "recorder/objects/events.h"

/* live.c */
bool sm_objects_live_start(void);
void sm_objects_live_free(void);
bool sm_objects_live_check(void);
sm_objects_live_entry *sm_objects_live_find(uintptr_t address); /* NULL: not there */

/* types.c */
bool sm_objects_types_prepare(
    void); /* once, outside events: makes Python objects. False, with an exception: no memory */
void sm_objects_type_gone(const PyTypeObject *object); /* its address may be used again */
void sm_objects_types_forget_keys(void);
void sm_objects_types_free(void);
bool sm_objects_types_check(void);

/* sites.c */
bool sm_objects_sites_start(void);
void sm_objects_code_died(const void *code);
void sm_objects_sites_forget_type(const PyTypeObject *object);
void sm_objects_sites_forget_keys(void);
void sm_objects_sites_free(void);
bool sm_objects_sites_check(void);

/* birth_times.c */
void sm_objects_times_start(void);
void sm_objects_times_free(void);

void sm_objects_collections_forget(void); /* rare_events.c */

/* state.c: what is passed over. Guard: the GIL. */
typedef struct {
    bool busy;            /* in the middle of something of ours: no event is the program's */
    uint32_t quiet;       /* depth, of all threads */
    const PyObject *list; /* that instruments: neither its birth nor its death counts; NULL: none. By type only */
} sm_objects_passed_state;
extern sm_objects_passed_state sm_objects_passed;
void sm_objects_set_busy(bool on);
void sm_objects_set_rare(void); /* after any of that has changed: whether events come the long way */

#endif
