/* The end of a recording when a signal without a handler kills the process (SIGTERM, SIGHUP ...). */
#pragma once

typedef enum { SM_FATAL_SIGNAL_RECORDINGS, SM_FATAL_SIGNAL_WATCHES, SM_FATAL_SIGNALS } sm_fatal_signal;

/* Call `end` with the signal's name before such a signal kills the process, with the GIL, on any thread, perhaps on two
 * if it releases the GIL. It must raise nothing. NULL stops this; if a signal has come and nothing else is recorded,
 * the process dies here. A forked child has to call this again. With the GIL. */
void sm_fatal_signal_want(sm_fatal_signal who, void (*end)(const char *signal_name));

/* Announce that the program is ending a recording, which ends in sm_fatal_signal_want(who, NULL). A signal meanwhile
 * kills the process there, however long that takes. With the GIL. */
void sm_fatal_signal_begin(void);
