/* Combinations of sources and recorders. */
#ifndef SM_MODULE_WIRING_H
#define SM_MODULE_WIRING_H

#include "engine/engine.h"
#include "hub/spans.h"

typedef struct {
    const sm_recorder *recorder;     /* NULL: behind the last */
    const sm_source *const *sources; /* that can feed it, in order of preference, NULL at the end */
    bool (*check)(void);             /* consistency, for debug builds and tests */
} sm_known_recorder;

extern const sm_known_recorder sm_recorders[]; /* the first is the default */

/* Instantiates the sources for the recorders of the main recording, which is about to start. Those of coverage are made
 * for it alone. */
void sm_wire(const sm_pair *pairs, uint32_t count, const sm_settings *settings);

/* The objects recorder's receiver of spans. */
extern const sm_span_receiver sm_objects_span_receiver;

#endif
