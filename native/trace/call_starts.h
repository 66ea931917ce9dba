/* The starts of calls that were open where reading begins. No Python.h. */
#pragma once

#include "trace/token_machine.h"

/* Find the starts of the calls on the stack of a machine that has just entered `block`, its first. */
void sm_look_back(sm_machine *m, size_t block);
