/* The coverage recorder, which places.h explains, as others see it. */
#pragma once

#include "engine/engine.h"

/* All functions are called with the GIL. */

extern const sm_recorder sm_cover_recorder;

void sm_cover_context(const char *name); /* UTF-8; "" for none */
uint64_t sm_cover_executed(void);        /* hits of all lines; 0 without counts */
bool sm_cover_check(void);

typedef struct {
    uint64_t functions, codes, lines, steps, branches, contexts, rearmed;
} sm_cover_facts;
sm_cover_facts sm_cover_status(void);
