/* The cycle collector's pauses, into the journal: instants of the thread that collects. */
#ifndef SM_RECORDER_CALLS_PAUSES_H
#define SM_RECORDER_CALLS_PAUSES_H

/* A recording with a journal begins, and ends. With the GIL. */
void sm_pauses_start(void);
void sm_pauses_stop(void);

#endif
