#include "recorder/calls/gc_pauses.h"

#include "hooks/gc_callbacks.h"
#include "recorder/calls/store.h"
#include "recorder/calls/trace.h"

static bool notified; /* guard: the GIL */

static void note(const sm_pause *of) {
    sm_thread *thread = sm_this_thread;
    if (!sm_main.running || sm_main.forked || thread->session != sm_engine.session || thread->ended)
        return; /* this thread has had no event yet */
    if (sm_main.ahead)
        return; /* the journal has ended, and the merge of the children's parts collects */
    sm_trace_pause(thread, of);
}

void sm_pauses_start(void) {
    if (sm_trace_has_file() || notified)
        notified = sm_collector_notify(sm_trace_has_file() ? note : NULL);
}

void sm_pauses_stop(void) {
    if (notified)
        (void)sm_collector_notify(NULL);
    notified = false;
}
