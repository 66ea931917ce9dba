/* The ticker: what keeps a long segment of a short function from being missed. See ticker.c. */
#ifndef SM_ENGINE_TICKER_H
#define SM_ENGINE_TICKER_H

#define SM_LONG_NS 50000   /* so much of a segment is the random samples' to find, what it has more the ticker's */
#define SM_TICK_NS 2000000 /* mean time between ticks */

void sm_ticker_want(void); /* cheap; starts the thread unless it runs, or a fork was just made */
void sm_ticker_stop(void);

/* For pthread_atfork, with the GIL or without. Before: stops it, and for a while it is not wanted, since there may be
 * more forks. After: in the parent. Forked: in the child, where the thread is not there. */
void sm_ticker_before_fork(void);
void sm_ticker_after_fork(void);
void sm_ticker_forked(void);

#endif
