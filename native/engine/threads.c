/* Threads and their stacks.
 *
 * A thread is met at its first event. Its record hangs on thread-local storage, and a capsule in the interpreter's dict
 * of the thread reports its end. The frames on its stack are walked once and become its path.
 *
 * Later one comparison per event checks the stack: the interpreter keeps frames in *data stack chunks*, which greenlet
 * exchanges when it switches stacks. A new chunk is either the neighbour (the stack grew or shrank) or another stack:
 * then the frames are walked, and the recorder compares its path with them. This costs other events nothing. */
#include <assert.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/frame.h"
#include "compat/gc_hold.h"
#include "engine/threads.h"

#define CAPSULE "seismo.thread"

/* Note where the times of a thread end that has ended, or is about to. With the engine's lock. */
static void note_end(sm_thread *thread) {
    if (pthread_equal(thread->pthread, pthread_self()))
        sm_thread_take_cpu(thread);
    thread->end_ticks = sm_clock_read(&sm_engine.clock);
    thread->end_ns = sm_moment_since(&sm_main.began);
}

/* End a thread; idempotent. With the engine's lock. */
static void end_thread(sm_thread *thread) {
    if (thread->ended)
        return;
    sm_engine_stir(&sm_main);
    if (sm_main.running && thread->session == sm_engine.session) {
        note_end(thread);
        sm_thread_leave(thread);
        if (thread->home != thread) {
            sm_thread_add_to_group(thread);
        } else {
            sm_engine.finished++;
            sm_engine.kept += thread->kept;
        }
    }
    thread->ended = true;
}

/* Handle the clearing of the thread's state, perhaps on another thread. Finalizers may still run on it. */
static void thread_gone(PyObject *capsule) {
    SM_CORE_GUARD;
    sm_thread *thread = PyCapsule_GetPointer(capsule, CAPSULE);
    if (thread == NULL) {
        PyErr_Clear();
        return;
    }
    sm_engine_lock();
    end_thread(thread);
    thread->cleared = true;
    thread->tstate = &sm_no_tstate;
    thread->chunk = SM_NO_CHUNK;
    if (thread->attached == 0)
        sm_thread_retire(thread);
    sm_engine_unlock();
}

#define MAX_WALK 100000 /* frames; a deeper stack is cut at its root */

/* Leave these frames out of the recording. */
static void leave_below(sm_thread *thread, const sm_walked_frame *frames, size_t count) {
    sm_free(thread->below_frames);
    thread->below_frames = count > 0 ? sm_malloc(count * sizeof *thread->below_frames) : NULL;
    thread->below = thread->below_frames ? count : 0;
    if (thread->below < count)
        sm_main.lost_memory++;
    for (size_t i = 0; i < thread->below; i++)
        thread->below_frames[i][0] = frames[i].frame, thread->below_frames[i][1] = frames[i].code;
}

/* Return true if a frame was left out. Another frame at the same address most likely runs other code. */
static bool is_below(const sm_walked_frame *frame, const sm_thread *thread, size_t place) {
    return frame->frame == thread->below_frames[place][0] && frame->code == thread->below_frames[place][1];
}

static bool walk(sm_thread *thread, bool entering, bool first) {
    const sm_thread_states *states = sm_main.pairs[0].recorder->threads;
    if (states == NULL)
        return true;
    uint32_t count = 0, size = 0;
    sm_engine.walks++;
    sm_walked_frame *frames = NULL;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    if (entering && frame != NULL)
        Py_SETREF(frame, PyFrame_GetBack(frame));
    bool same = true, whole = true;
    while (frame != NULL && count < MAX_WALK && (whole = sm_grow(&frames, count, &size, sizeof *frames, 64))) {
        frames[count++] = (sm_walked_frame){PyFrame_GetCode(frame), PyFrame_GetGlobals(frame), sm_frame_behind(frame),
                                            PyFrame_GetLasti(frame)};
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    for (size_t i = 0; i < count / 2; i++) {
        sm_walked_frame inner = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = inner;
    }
    if (first && !sm_engine.same_frames)
        leave_below(thread, frames, sm_engine.from_here ? count : 0);
    size_t below = 0;
    while (below < count && below < thread->below && is_below(&frames[below], thread, below))
        below++;
    if (below > 0)
        thread->below = below; /* the others have ended; calls in their place are recorded */
    if (whole)
        same = states->resync(thread, frames, below, count);
    else
        sm_main.lost_memory++;
    for (size_t i = 0; i < count; i++) {
        Py_DECREF(frames[i].code);
        Py_XDECREF(frames[i].globals);
    }
    sm_free(frames);
    return same;
}

static void note_chunk(sm_thread *thread) {
    thread->chunk = sm_tstate_chunk(thread->tstate);
    thread->chunk_before = thread->chunk ? thread->chunk->previous : NULL;
}

#define NAMELESS 3 /* events at which a name is looked for again */

/* Make the thread part of the recording. folds: with a shared row and paths. With the engine's lock. */
static bool enter_recording(sm_thread *thread, bool folds) {
    sm_engine_stir(&sm_main);
    thread->start_ns = sm_moment_since(&sm_main.began);
    thread->start_ticks = sm_clock_read(&sm_engine.clock);
    thread->end_ns = 0;
    thread->rest_ticks = thread->kept = 0;
    thread->cpu_start_ns = sm_thread_cpu_ns(thread);
    thread->cpu_ns = -1;
    thread->home = thread;
    thread->grouped = thread->saved = thread->announced = false;
    if (!folds || !sm_thread_fold(thread))
        thread->id = sm_engine.thread_count++;
    thread->session = sm_engine.session;
    if (sm_thread_enter(thread))
        return true;
    sm_main.lost_memory++;
    thread->session = 0; /* its next event tries again */
    thread->home->folded -= thread->home != thread;
    thread->home = thread;
    return false;
}

/* Make the record belong to the current recording. */
static bool begin_thread(sm_thread *thread, bool entering) {
    bool folds = sm_thread_folds() && !thread->main && !thread->ended;
    if (thread->name[0] == '\0' || folds) {
        sm_thread_find_name(thread, folds, NULL, NULL);
        thread->nameless = thread->name[0] ? 0 : NAMELESS;
    }
    sm_engine_lock();
    bool entered = enter_recording(thread, folds);
    sm_engine_unlock();
    if (!entered)
        return false;
    walk(thread, entering, true);
    note_chunk(thread);
    if (thread->ended) {
        sm_engine_lock();
        note_end(thread);
        sm_engine_unlock();
    }
    return true;
}

/* Return the record of a state that another OS thread has used so far, or NULL. */
static sm_thread *known_thread(const PyThreadState *tstate) {
    PyObject *capsule = tstate->dict ? PyDict_GetItemString(tstate->dict, CAPSULE) : NULL;
    sm_thread *thread = capsule ? PyCapsule_GetPointer(capsule, CAPSULE) : NULL;
    PyErr_Clear();
    return thread != NULL && sm_thread_is_of(thread, tstate) ? thread : NULL;
}

static sm_thread *new_thread(PyThreadState *tstate) {
    PyObject *dict = PyThreadState_GetDict();
    sm_thread *thread = dict != NULL ? sm_thread_new_record() : NULL;
    if (thread == NULL)
        return NULL;
    thread->tstate = tstate;
    thread->tstate_id = sm_tstate_id(tstate);
    thread->interpreter = sm_tstate_interpreter(tstate);
    thread->home = thread;
    thread->chunk = SM_NO_CHUNK;
    thread->pthread = pthread_self();
    thread->native_id = (uint64_t)syscall(SYS_gettid);
    thread->main = thread->native_id == (uint64_t)getpid() && sm_is_main_interpreter();
    pthread_getcpuclockid(thread->pthread, &thread->cpu_clock);
    PyObject *capsule = PyCapsule_New(thread, CAPSULE, thread_gone);
    if (capsule == NULL) { /* the interpreter does not have the record */
        sm_engine_lock();
        thread->ended = thread->cleared = true;
        sm_thread_retire(thread);
        sm_engine_unlock();
        return NULL;
    }
    bool kept = PyDict_SetItemString(dict, CAPSULE, capsule) == 0;
    Py_DECREF(capsule); /* if not kept, its destructor has released the record */
    return kept ? thread : NULL;
}

/* Handle an event while the interpreter clears the thread's state. Each event may be the last, after which the state is
 * gone. So the recorders use a copy until the next one. */
static sm_thread *late_thread(sm_thread *thread, const PyThreadState *tstate, bool entering) {
    const sm_thread_states *states = sm_main.pairs[0].recorder->threads;
    static SM_FAST_TLS PyThreadState copy;
    sm_engine_lock();
    bool goes_on = thread->late || states == NULL || states->step(thread, SM_THREAD_GOES_ON);
    copy = *tstate;
    if (goes_on)
        thread->tstate = &copy;
    sm_engine_unlock();
    if (!goes_on) {
        sm_main.lost_memory++;
        return NULL;
    }
    sm_chunk *chunk = sm_tstate_chunk(&copy);
    if (!thread->late || chunk != thread->chunk_before) {
        sm_engine_hold(thread, true);
        walk(thread, entering, false);
        sm_engine_hold(thread, false);
    }
    thread->chunk_before = chunk;
    thread->chunk = SM_NO_CHUNK;
    sm_engine_lock();
    thread->late = true;
    note_end(thread);
    if (thread->home != thread)
        sm_thread_add_to_group(thread);
    sm_engine_unlock();
    return thread;
}

static sm_thread *thread_here(bool entering) {
    PyThreadState *tstate = PyThreadState_Get();
    sm_thread *thread = sm_this_thread;
    if (!sm_thread_is_of(thread, tstate)) {
        thread = known_thread(tstate);
        if (thread == NULL)
            thread = new_thread(tstate);
        if (thread == NULL || !sm_thread_attach(thread)) {
            sm_main.lost_memory++;
            return NULL;
        }
    }
    if (thread->session != sm_engine.session)
        return begin_thread(thread, entering) ? thread : NULL;
    if (thread->cleared)
        return late_thread(thread, tstate, entering);
    sm_chunk *chunk = sm_tstate_chunk(tstate);
    bool grown = chunk != NULL && thread->chunk != NULL && chunk->previous == thread->chunk;
    bool shrunk = chunk == thread->chunk_before;
    const sm_thread_states *states = sm_main.pairs[0].recorder->threads;
    bool follows = states != NULL && states->follows != NULL && states->follows(thread, entering);
    if ((!(grown || shrunk) || chunk == NULL) && !follows) {
        sm_engine_hold(thread, true);
        walk(thread, entering, false); /* another stack, which needs no repair */
        sm_engine_hold(thread, false);
    }
    note_chunk(thread);
    return thread;
}

sm_thread *sm_engine_thread_here(bool entering) {
    SM_CORE_GUARD;
    if (!sm_main.running || sm_main.forked || sm_is_finalizing() || sm_is_apart(&sm_main.apart, PyThreadState_Get()))
        return NULL;
    SM_EXCEPTION_GUARD;
    bool held = sm_collection_hold();
    sm_engine_hold(NULL, true);
    sm_thread *thread = thread_here(entering);
    sm_engine_hold(NULL, false);
    sm_collection_release(held);
    return thread;
}

/* Fold a thread again whose name was unknown, and which has no paths yet. With the engine's lock. */
static void find_group(sm_thread *thread) {
    sm_thread *before = thread->home;
    if (!sm_thread_fold(thread))
        return;
    before->folded--;
    if (sm_main.settings.journal)
        sm_thread_leave(thread); /* its journal names the other group, so another one begins */
    if (!sm_thread_enter(thread)) {
        sm_main.lost_memory++;
        thread->session = 0;
    }
}

void sm_engine_name(sm_thread *thread, PyCodeObject *code, PyObject *self) {
    assert(thread == sm_this_thread && thread->nameless > 0);
    SM_EXCEPTION_GUARD;
    bool held = sm_collection_hold();
    bool first = thread->nameless-- == NAMELESS, folded = thread->home != thread;
    sm_engine_hold(NULL, true);
    sm_thread_find_name(thread, folded && first, code, self);
    sm_engine_hold(NULL, false);
    if (thread->name[0] != '\0')
        thread->nameless = 0;
    if (folded && first) {
        sm_engine_lock();
        find_group(thread);
        sm_engine_unlock();
    }
    sm_collection_release(held);
}

void sm_engine_repair(sm_thread *thread, bool entering) {
    assert(thread == sm_this_thread && PyGILState_Check());
    SM_EXCEPTION_GUARD;
    bool held = sm_collection_hold();
    sm_engine_hold(thread, true);
    if (!walk(thread, entering, false))
        sm_engine.repaired++;
    sm_engine_hold(thread, false);
    sm_collection_release(held);
}

void sm_engine_forget_interpreter(const PyInterpreterState *interpreter) {
    sm_engine_lock();
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next)
        if (thread->interpreter == interpreter)
            thread->interpreter = NULL;
    sm_engine_unlock();
}

void sm_threads_forked(void) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread == sm_this_thread) {
            thread->pthread = pthread_self();
            thread->native_id = (uint64_t)getpid();
            pthread_getcpuclockid(thread->pthread, &thread->cpu_clock);
            continue;
        }
        thread->ended = true;
        thread->attached = 0;
        thread->unreachable = thread->unreachable || thread->cleared;
    }
}
