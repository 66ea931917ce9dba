/* A clock for recorders that read none at events: every two milliseconds the next event is to look at the time. */
#ifndef SM_ENGINE_TICKER_H
#define SM_ENGINE_TICKER_H

#include <stdbool.h>

#define SM_TICK_NS 2000000 /* mean time between ticks */

bool sm_ticker_init(void); /* once per process; false: out of memory */
/* tick: called from the ticker's thread, without the GIL. A forked child has to ask again. */
void sm_ticker_start(void (*tick)(void));
void sm_ticker_stop(void);

#endif
