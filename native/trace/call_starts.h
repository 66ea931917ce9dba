/* When calls began that were open where reading begins. No Python.h. */
#ifndef SM_TRACE_CALL_STARTS_H
#define SM_TRACE_CALL_STARTS_H

#include "trace/token_machine.h"

/* The machine has just entered this block, its first. Calls on its stack whose beginnings are found in blocks before
 * get their true beginnings, and the others stay as they are: begun before. */
void sm_look_back(sm_machine *m, size_t block);

#endif
