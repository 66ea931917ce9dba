/* The engine's lock; engine.h lists what it guards. It is taken after the GIL. */
#include <pthread.h>

#include "engine/engine.h"

static pthread_mutex_t lock;

void sm_engine_lock(void) {
#if SM_FREE_THREADED
    for (int tries = 0; tries < 200; tries++) { /* events of objects hold it for some tens of nanoseconds */
        if (pthread_mutex_trylock(&lock) == 0)
            return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
#endif
    pthread_mutex_lock(&lock);
}

void sm_engine_unlock(void) {
    pthread_mutex_unlock(&lock);
}

void sm_engine_lock_renew(void) {
    pthread_mutexattr_t recursive;
    (void)pthread_mutexattr_init(&recursive);
    (void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&lock, &recursive);
    (void)pthread_mutexattr_destroy(&recursive);
}
