/* The probes source for 3.11: reports new lines and new steps between lines to a receiver, which decides what it
 * wants. */
#ifndef SM_SOURCE_PY311_PROBES_PROBES_H
#define SM_SOURCE_PY311_PROBES_PROBES_H

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

/* The functions of a receiver, called with the GIL, perhaps with an exception set. None runs Python code. */
typedef struct {
    /* Return a record, or NULL if the code is unwanted; called once per code object. Set *frames to get enter and
     * leave. */
    void *(*meet)(PyCodeObject *code, PyObject *globals, bool *frames);
    void (*line)(void *record, int line);
    void (*step)(void *record, int from, int to); /* -N for an entry or exit of the code that begins at line N */
    bool (*line_is_new)(void *record, int line);
    bool (*step_is_new)(void *record, int from, int to);
    void (*enter)(void *record, const void *frame); /* called around each run of a frame */
    void (*leave)(void *record, const void *frame);
} sm_probe_receiver;

typedef struct {
    bool steps;
    bool every; /* all lines and steps, not only the first of each */
} sm_probe_wish;

/* Start the source. Return -1 with an exception set. */
int sm_probes_start(const sm_probe_receiver *receiver, const sm_probe_wish *wish);
void sm_probes_stop(void); /* no record is used afterwards */
/* Make everything new again. */
void sm_probes_again(void);
bool sm_probes_hold(void); /* true while the hook is ours */

typedef struct {
    bool tracing;    /* the trace function is used instead, because other tools use the slots */
    bool escaped;    /* the trace function is used for good, since the C stack was nearly full */
    uint64_t codes;  /* wanted code objects */
    uint64_t probes; /* number of probes in code now */
    uint64_t hits;
    uint64_t lost; /* code objects skipped for lack of memory */
} sm_probe_facts;
sm_probe_facts sm_probes_facts(void);

#endif
#endif
