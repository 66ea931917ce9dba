/* The end of a recording when the process is told to die by a signal that nobody handles (SIGTERM, SIGHUP ...). */
#ifndef SM_ENGINE_FATAL_SIGNALS_H
#define SM_ENGINE_FATAL_SIGNALS_H

typedef enum {
    SM_FATAL_SIGNAL_ENGINE,
    SM_FATAL_SIGNAL_COVERAGE,
    SM_FATAL_SIGNAL_WATCHES,
    SM_FATAL_SIGNALS
} sm_fatal_signal;

/* From now on `end` is called before the process dies of such a signal, with the GIL held, on any thread, with the
 * signal's name. It must raise nothing. One that lets go of the GIL may be called by two threads at a time. NULL: not
 * any more; if such a signal has come and nothing else is recorded, the process dies here. A forked child has to ask
 * again. With the GIL. */
void sm_fatal_signal_want(sm_fatal_signal who, void (*end)(const char *signal_name));

/* A recording is about to be ended by its program, which ends in sm_fatal_signal_want(who, NULL). A process that is
 * told to die meanwhile dies there, however long that takes. With the GIL. */
void sm_fatal_signal_begin(void);

#endif
