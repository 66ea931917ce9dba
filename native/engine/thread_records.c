#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "compat/exception.h"
#include "compat/lock.h"
#include "engine/threads.h"

/* An OS thread. sm_this_thread and sm_other_thread lead to its records, and at its end this. Guard: the engine's lock,
 * except for the atomic `next` of one that has ended. */
typedef struct keeper {
    struct keeper *next;
    sm_thread *thread, *other;
} keeper;

static pthread_key_t keepers; /* guard: the GIL; set once */
static keeper *left;          /* atomic: of OS threads that have ended */
static sm_thread *free_list;  /* unused records, which stay in sm_engine.threads; guarded by the engine's lock */

static void thread_of_system_ended(void *mine) { /* on it; without the GIL, and after its states are gone */
    keeper *ended = mine;
    ended->next = __atomic_load_n(&left, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&left, &ended->next, ended, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

int sm_threads_init(void) {
    if (pthread_key_create(&keepers, thread_of_system_ended) == 0)
        return 0;
    return SM_FAIL(PyExc_RuntimeError, "the system gives no storage for threads");
}

void sm_thread_retire(sm_thread *thread) {
    thread->unreachable = true;
    if (!thread->grouped && thread->session == sm_engine.session)
        return;
    thread->session = 0;
    thread->next_free = free_list;
    free_list = thread;
}

static void detach(sm_thread **place) {
    sm_thread *thread = *place;
    *place = NULL;
    if (thread == NULL || --thread->attached > 0 || !thread->cleared)
        return;
    thread->tstate = &sm_no_tstate;
    sm_thread_retire(thread);
}

static bool attach_locked(sm_thread *thread) {
    keeper *mine = pthread_getspecific(keepers);
    if (mine == NULL) {
        mine = sm_calloc(1, sizeof *mine);
        if (mine == NULL || pthread_setspecific(keepers, mine) != 0) {
            sm_free(mine);
            return false;
        }
    }
    sm_thread **place = thread->interpreter == PyInterpreterState_Main() ? &mine->thread : &mine->other;
    if (*place != thread) {
        detach(place);
        *place = thread;
        thread->attached++;
    }
    sm_this_thread = thread;
    return true;
}

bool sm_thread_attach(sm_thread *thread) {
    sm_engine_lock();
    bool attached = attach_locked(thread);
    sm_engine_unlock();
    return attached;
}

static void look_for_left(void) {
    for (keeper *ended = __atomic_exchange_n(&left, NULL, __ATOMIC_ACQUIRE), *next; ended != NULL; ended = next) {
        next = ended->next;
        detach(&ended->thread);
        detach(&ended->other);
        sm_free(ended);
    }
}

static sm_thread *new_record(void) {
    look_for_left();
    sm_thread *thread = free_list;
    if (thread != NULL) {
        free_list = thread->next_free;
        sm_free(thread->below_frames);
        memset(thread, 0, offsetof(sm_thread, next));
        return thread; /* the recorder clears its own part */
    }
    thread = sm_aligned(64, sizeof *thread + SM_RECORDER_ROOM);
    if (thread == NULL)
        return NULL;
    memset(thread, 0, sizeof *thread + SM_RECORDER_ROOM);
    thread->next = sm_engine.threads;
    sm_engine.threads = thread;
    return thread;
}

sm_thread *sm_thread_new_record(void) {
    sm_engine_lock();
    sm_thread *thread = new_record();
    sm_engine_unlock();
    return thread;
}

void sm_thread_take_rest(sm_thread *thread) {
    sm_sampler_lock(); /* which moves it from one list to another */
    bool listed = thread->timing.listed;
    sm_sampler_unlock();
    if (listed)
        thread->rest_ticks = sm_sampler_ran(&thread->timing, sm_clock_read(&sm_engine.clock));
}

void sm_thread_take_cpu(sm_thread *thread) {
    int64_t used = sm_thread_cpu_ns(thread);
    if (used >= 0 && thread->cpu_start_ns >= 0)
        thread->cpu_ns = used - thread->cpu_start_ns;
}

int64_t sm_thread_cpu_ns(const sm_thread *thread) {
    return thread->ended ? -1 : sm_time_ns(thread->cpu_clock);
}

bool sm_thread_enter(sm_thread *thread) {
    const sm_thread_states *states = sm_main.pairs[0].recorder->threads;
    sm_sampler_remove(&thread->timing); /* it may begin again in another group */
    if (sm_engine_keeps_time())
        sm_timing_start(&thread->timing);
    if (states != NULL && !states->step(thread, SM_THREAD_BEGINS))
        return false;
    if (sm_engine_keeps_time() && !thread->is_group)
        sm_sampler_add(&thread->timing, thread->cpu_clock, thread->native_id, sm_lock_of_world(thread->tstate));
    return true;
}

void sm_thread_leave(sm_thread *thread) {
    const sm_recorder *recorder = sm_main.pairs[0].recorder;
    if (recorder->threads == NULL)
        return;
    recorder->hold(thread, true);
    sm_thread_take_rest(thread);
    sm_sampler_remove(&thread->timing);
    (void)recorder->threads->step(thread, SM_THREAD_ENDS);
}

void sm_threads_forget(void) {
    look_for_left();
    free_list = NULL;
    for (sm_thread **link = &sm_engine.threads; *link != NULL;) {
        sm_thread *thread = *link;
        thread->chunk = SM_NO_CHUNK;
        if (thread->unreachable) {
            *link = thread->next;
            sm_free(thread->below_frames);
            free(thread);
        } else {
            thread->home = thread;
            link = &thread->next;
        }
    }
    sm_engine.thread_count = sm_engine.finished = 0;
    sm_engine.kept = 0;
}
