/* Combinations of sources and recorders. */
#pragma once

#include "engine/engine.h"
#include "hub/spans.h"

typedef struct {
    const sm_recorder *recorder;     /* NULL in the entry after the last */
    const sm_source *const *sources; /* sources that can feed it, in order of preference, NULL at the end */
    bool (*check)(void);             /* checks the consistency of its data, for debug builds and tests */
} sm_known_recorder;

extern const sm_known_recorder sm_recorders[]; /* the first one is the default */

/* Install the sources' callbacks for the recorders of the main recording, which is about to start. Coverage has its
 * own.
 */
void sm_wire(const sm_pair *pairs, uint32_t count, const sm_settings *settings);

/* The objects recorder's receiver of spans. */
extern const sm_span_receiver sm_objects_span_receiver;
