/* The ticker: what keeps a long segment of a short function from being missed. See ticker.c. */
#ifndef SM_ENGINE_TICKER_H
#define SM_ENGINE_TICKER_H

#include <stdbool.h>

#define SM_LONG_NS 50000   /* so much of a segment is the random samples' to find, what it has more the ticker's */
#define SM_TICK_NS 2000000 /* mean time between ticks */

bool sm_ticker_init(void); /* once per process; false: out of memory */
void sm_ticker_want(void); /* cheap; starts the thread unless it runs, or a fork was just made */
void sm_ticker_stop(void);

#endif
