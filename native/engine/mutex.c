/* The engine's lock; engine.h lists what it guards. It is taken after the GIL. */
#include <pthread.h>

#include "engine/engine.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void sm_engine_lock(void) {
    pthread_mutex_lock(&lock);
}

void sm_engine_unlock(void) {
    pthread_mutex_unlock(&lock);
}

void sm_engine_lock_renew(void) {
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}
