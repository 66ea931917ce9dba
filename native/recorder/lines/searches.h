/* What an interpreter takes that searches for the line of each LINE event (compat/linesearch.h), taken out of the times
 * of lines. See searches.c. */
#ifndef SM_RECORDER_LINES_SEARCHES_H
#define SM_RECORDER_LINES_SEARCHES_H

#include "compat/linesearch.h"
#include "recorder/lines/linetimes.h"

typedef struct {
    double ticks, error; /* that a segment held of searches, and by how much that may be off */
    bool more;           /* it held others of which nothing is known */
} sm_line_search;

/* At an event, before the stack changes: a segment of the topmost frame ends, and another begins. What the first held
 * of searches. */
sm_line_search sm_lines_search(sm_lines_thread *state, sm_beginning how);

void sm_lines_free_searches(sm_line_table *table);

#endif
