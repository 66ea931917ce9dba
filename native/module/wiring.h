/* Combinations of sources and recorders. */
#ifndef SM_MODULE_WIRING_H
#define SM_MODULE_WIRING_H

#include "engine/engine.h"
#include "hub/spans.h"

extern const sm_recorder *const sm_recorders[]; /* ends with NULL; the first is the default */

/* Return the sources that can feed a recorder, in order of preference, ending with NULL. */
const sm_source *const *sm_sources_of(const sm_recorder *recorder);

/* Set the chosen source's callbacks for a recorder and the one alongside it, which may be NULL. */
void sm_wire(const sm_recorder *recorder, const sm_source *source, const sm_recorder *alongside,
             const sm_settings *settings);

/* The objects recorder's receiver of spans. */
extern const sm_span_receiver sm_objects_span_receiver;

#endif
