/* The probes source: on 3.11, tells of lines and of steps between lines that have not been told of yet.
 *
 * It knows no recorder: a *receiver* says which code it wants and what is new to it, and receives the events. */
#ifndef SM_SOURCE_PY311_PROBES_PROBES_H
#define SM_SOURCE_PY311_PROBES_PROBES_H

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

/* All with the GIL and, but for meet, on the way of an event; none may run Python code or raise. An exception may be
 * pending. record: what meet gave. */
typedef struct {
    /* Of a code object, once: NULL, unwanted; *frames: its frames are to be told of, too. */
    void *(*meet)(PyCodeObject *code, PyObject *globals, bool *frames);
    void (*line)(void *record, int line);
    void (*step)(void *record, int from, int to); /* to or from -N: out of or into the code that begins at line N */
    bool (*line_is_new)(void *record, int line);
    bool (*step_is_new)(void *record, int from, int to);
    void (*enter)(void *record, const void *frame); /* around each run of a frame */
    void (*leave)(void *record, const void *frame);
} sm_probe_receiver;

typedef struct {
    bool steps; /* steps between lines as well as lines */
    bool every; /* each line and step every time, not only the first */
} sm_probe_wish;

/* -1 with an exception. */
int sm_probes_start(const sm_probe_receiver *receiver, const sm_probe_wish *wish);
void sm_probes_stop(void); /* no record is used afterwards */
/* All is new again: code that is entered from here on, and all that runs now. */
void sm_probes_again(void);
bool sm_probes_hold(void); /* is the hook still ours? */

typedef struct {
    bool tracing;    /* by the interpreter's trace function, as others use its slots */
    bool escaped;    /* the same, and for good: the C stack was nearly used up */
    uint64_t codes;  /* met and wanted */
    uint64_t probes; /* that stand now */
    uint64_t hits;   /* of probes */
    uint64_t lost;   /* code objects that are left out for want of memory */
} sm_probe_facts;
sm_probe_facts sm_probes_facts(void);

#endif
#endif
