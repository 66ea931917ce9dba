/* A counter of table places probed, with which tests check linear costs without timings. Empty without SM_TESTING. */
#pragma once

#include <stdint.h>

#ifdef SM_TESTING
extern uint64_t sm_looks; /* in alloc.c, with other code for tests */
#define SM_LOOK() ((void)sm_looks++)
#else
#define SM_LOOK() ((void)0)
#endif
