#include "engine/threads.h"

sm_engine_state sm_engine;
sm_recording sm_main, sm_beside;
sm_recording *const sm_recordings[SM_RECORDINGS] = {&sm_main, &sm_beside};

PyThreadState sm_no_tstate; /* never changed. Its chunk is NULL, never SM_NO_CHUNK */

sm_thread sm_no_thread = {.tstate = &sm_no_tstate, .chunk = SM_NO_CHUNK};

SM_FAST_TLS sm_thread *sm_this_thread = &sm_no_thread;
SM_FAST_TLS sm_thread *sm_other_thread = &sm_no_thread;

void sm_engine_hold(sm_thread *thread, bool on) {
    SM_EACH_PAIR (&sm_main, pair) {
        bool threads = pair->recorder->threads != NULL;
        if (!threads || thread != NULL)
            pair->recorder->hold(threads ? thread : NULL, on);
    }
}
