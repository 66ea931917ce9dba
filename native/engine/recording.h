/* A recording's start and end. */
#ifndef SM_ENGINE_RECORDING_H
#define SM_ENGINE_RECORDING_H

#include "engine/engine.h"

int sm_engine_init(void); /* once per process; -1 with an exception */
/* If one of them cannot be started, none is. */
int sm_engine_start(const sm_pair *pairs, uint32_t count, const sm_settings *settings, bool calibrate, bool running,
                    int fd, const char *meta);
void sm_engine_stop(const char *exit);
/* In a forked child: what the parent recorded is discarded. fd: -1: memory; -2: nothing more is recorded. */
int sm_engine_after_fork(int fd, const char *meta);

#endif
