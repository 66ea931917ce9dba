/* The end of a recording when the process is told to die by a signal that nobody handles (SIGTERM, SIGHUP ...). */
#ifndef SM_ENGINE_ENDING_H
#define SM_ENGINE_ENDING_H

typedef enum { SM_ENDING_ENGINE, SM_ENDING_COVERAGE, SM_ENDING_WATCHES, SM_ENDINGS } sm_ending;

/* From now on `end` is called before the process dies of such a signal: once, with the GIL held, on any thread, with
 * the signal's name. It must raise nothing. NULL: not any more. A forked child has to ask again. With the GIL. */
void sm_ending_want(sm_ending who, void (*end)(const char *signal_name));

#endif
