/* A ticker for recorders that read no clock at events: every two milliseconds the next event looks at the time. */
#pragma once

#include <stdbool.h>

#define SM_TICK_NS 2000000

bool sm_ticker_init(void); /* once per process; false if out of memory */
/* Start calling `tick` on the ticker's thread, without the GIL. A forked child has to call this again. */
void sm_ticker_start(void (*tick)(void));
void sm_ticker_stop(void);
