/* Where sources and recorders meet. */
#ifndef SM_MODULE_WIRING_H
#define SM_MODULE_WIRING_H

#include "engine/engine.h"
#include "hub/spans.h"

extern const sm_recorder *const sm_recorders[]; /* NULL at the end; the first is the default */

/* The sources that can feed a recorder, in order of preference, NULL at the end. */
const sm_source *const *sm_sources_of(const sm_recorder *recorder);

/* Instantiates the sources for a recorder, the source that was chosen, and the recorder one alongside it (NULL: none).
 */
void sm_wire(const sm_recorder *recorder, const sm_source *source, const sm_recorder *alongside,
             const sm_settings *settings);

/* What the objects recorder does with spans. */
extern const sm_span_receiver sm_objects_span_receiver;

#endif
