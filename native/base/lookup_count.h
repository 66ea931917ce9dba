/* How many places of tables were looked at, for tests that hold a price to be linear without measuring times. A build
 * without SM_TESTING counts nothing. */
#ifndef SM_BASE_LOOKUP_COUNT_H
#define SM_BASE_LOOKUP_COUNT_H

#include <stdint.h>

#ifdef SM_TESTING
extern uint64_t sm_looks; /* in alloc.c, with what else only tests use */
#define SM_LOOK() ((void)sm_looks++)
#else
#define SM_LOOK() ((void)0)
#endif

#endif
