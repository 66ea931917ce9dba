#pragma once

#include "engine/engine.h"

int sm_engine_init(void); /* once per process; -1 with an exception */
/* Start all pairs or none. */
int sm_engine_start(sm_recording *recording, const sm_pair *pairs, uint32_t count, const sm_settings *settings,
                    bool calibrate, bool running, int fd, const char *meta);
/* Have the sources check what the interpreter does not report. */
void sm_engine_poll(const sm_recording *recording);
void sm_engine_stop(sm_recording *recording, const char *exit);
/* Discard what the parent recorded, in a forked child. fd: -1 for memory, -2 to record nothing more. */
int sm_engine_after_fork(sm_recording *recording, int fd, const char *meta);
