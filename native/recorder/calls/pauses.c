#include "recorder/calls/pauses.h"

#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "recorder/calls/journal.h"
#include "slots/collector.h"

static uint64_t pauses; /* begun so far; the number of the one that goes on */

static void note(const sm_pause *pause) {
    static const char name[] = "garbage collection";
    sm_thread *thread = sm_this_thread;
    if (!sm_engine.running || sm_engine.forked || thread->session != sm_engine.session || thread->ended)
        return; /* no event has come from this thread */
    char json[96] = "";
    if (pause->begins)
        snprintf(json, sizeof json, "{\"generation\":%ld}", pause->generation);
    else if (pause->uncollectable != 0)
        snprintf(json, sizeof json, "{\"collected\":%ld,\"uncollectable\":%ld}", pause->collected,
                 pause->uncollectable);
    else
        snprintf(json, sizeof json, "{\"collected\":%ld}", pause->collected);
    unsigned kind = pause->begins ? SM_INSTANT_PAUSE_BEGINS : SM_INSTANT_PAUSE_ENDS;
    pauses += pause->begins;
    (void)sm_journal_instant(thread, kind, pauses, name, sizeof name - 1, json, strlen(json));
}

void sm_pauses_start(void) {
    pauses = 0;
    (void)sm_collector_tell(note);
}

void sm_pauses_stop(void) {
    (void)sm_collector_tell(NULL);
}
