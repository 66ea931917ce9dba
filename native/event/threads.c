/* Threads and their stacks: all that is not on the way of an event.
 *
 * A thread is met at its first event: its record hangs on thread-local storage, and a capsule in the interpreter's dict
 * of the thread tells of its end. The frames that are already on its stack are walked once and become its path.
 *
 * Afterwards one comparison an event holds the path against reality: the interpreter keeps a thread's frames in *data
 * stack chunks*, and greenlet exchanges them when it switches stacks. Another chunk than last time is either the
 * neighbour (the stack grew or shrank: nothing to do) or another stack: then the frames are walked and the recorder
 * compares its path with them. A switch is thus found at its first event, whatever made it, and costs nobody else
 * anything. Greenlets that run at the same path need no repair at all, since the recorder keeps no state of a frame. */
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "compat/frame.h"
#include "event/threads.h"

#define NO_CHUNK ((sm_chunk *)1) /* equals no chunk: the next event settles */
#define CAPSULE "seismo.thread"

PyThreadState sm_no_tstate; /* stands in for one that is gone: its chunk is NULL, never NO_CHUNK */

static sm_thread nobody = {.tstate = &sm_no_tstate, .chunk = NO_CHUNK};

__thread sm_thread *sm_this_thread __attribute__((tls_model("initial-exec"))) = &nobody;

static int64_t unix_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t sm_thread_cpu_ns(const sm_thread *thread) {
    struct timespec used;
    if (thread->ended || clock_gettime(thread->cpu_clock, &used) != 0)
        return -1;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Last words of a thread: its times. Idempotent. */
static void end_thread(sm_thread *thread) {
    if (thread->ended)
        return;
    if (sm_engine.running && thread->session == sm_engine.session) {
        if (pthread_equal(thread->pthread, pthread_self())) {
            int64_t cpu = sm_thread_cpu_ns(thread);
            if (cpu >= 0 && thread->cpu_start_ns >= 0)
                thread->cpu_ns = cpu - thread->cpu_start_ns;
        }
        thread->end_ticks = sm_clock_read(&sm_engine.clock);
        thread->end_ns = unix_ns();
        sm_engine.recorder->thread_end(thread);
    }
    thread->ended = true;
}

/* The interpreter clears the thread's state: on the thread itself, or on another at exit and after a fork. */
static void thread_gone(PyObject *capsule) {
    sm_thread *thread = PyCapsule_GetPointer(capsule, CAPSULE);
    if (thread == NULL) {
        PyErr_Clear();
        return;
    }
    end_thread(thread);
    thread->tstate = &sm_no_tstate;
    thread->chunk = NO_CHUNK;
    if (sm_this_thread == thread) {
        sm_this_thread = &nobody;
        thread->unreachable = true;
    }
}

static void copy_name(sm_thread *thread, PyObject *name) {
    if (name == NULL || !PyUnicode_Check(name))
        return;
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
    if (bytes == NULL)
        return;
    size_t size = (size_t)PyBytes_GET_SIZE(bytes);
    if (size >= sizeof thread->name) {
        size = sizeof thread->name - 1;
        while (size > 0 && ((unsigned char)PyBytes_AS_STRING(bytes)[size] & 0xC0) == 0x80)
            size--; /* not within a character */
    }
    memcpy(thread->name, PyBytes_AS_STRING(bytes), size);
    thread->name[size] = '\0';
    Py_DECREF(bytes);
}

/* The name that threading knows this thread by. `threading` is only looked at where it is imported already. A thread
 * that just begins is not in threading._active yet: it is the `self` of Thread._bootstrap, its first frame. */
static void find_name(sm_thread *thread) {
    if (thread->main) {
        strcpy(thread->name, "MainThread");
        return;
    }
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    if (threading == NULL)
        return;
    PyObject *active = PyObject_GetAttrString(threading, "_active");
    PyObject *ident = PyLong_FromUnsignedLong((unsigned long)thread->pthread);
    PyObject *object = active && ident && PyDict_Check(active) ? PyDict_GetItem(active, ident) : NULL;
    Py_XINCREF(object);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (object == NULL && frame != NULL) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        if (back == NULL) {
            PyObject *locals = PyObject_GetAttrString((PyObject *)frame, "f_locals");
            PyCodeObject *code = PyFrame_GetCode(frame);
            if (locals != NULL && strcmp(PyUnicode_AsUTF8(code->co_qualname) ?: "", "Thread._bootstrap") == 0)
                object = PyMapping_GetItemString(locals, "self");
            Py_DECREF(code);
            Py_XDECREF(locals);
        }
        Py_SETREF(frame, back);
    }
    Py_XDECREF(frame);
    PyObject *name = object ? PyObject_GetAttrString(object, "_name") : NULL;
    copy_name(thread, name);
    Py_XDECREF(name);
    Py_XDECREF(object);
    PyErr_Clear();
}

#define MAX_WALK 100000 /* frames; a deeper stack is cut at its root and the path with it */

/* These frames are no part of the recording. */
static void leave_below(sm_thread *thread, const sm_walked_frame *frames, size_t count) {
    sm_free(thread->below_frames);
    thread->below_frames = count > 0 ? sm_malloc(count * sizeof *thread->below_frames) : NULL;
    thread->below = thread->below_frames ? count : 0;
    if (thread->below < count)
        sm_engine.lost_memory++;
    for (size_t i = 0; i < thread->below; i++)
        thread->below_frames[i][0] = frames[i].frame, thread->below_frames[i][1] = frames[i].code;
}

/* A frame may have the address of one that was left: then it most likely runs other code. */
static bool is_below(const sm_walked_frame *frame, const sm_thread *thread, size_t place) {
    return frame->frame == thread->below_frames[place][0] && frame->code == thread->below_frames[place][1];
}

/* Walks the frames of the running thread and hands them to the recorder, outermost first. */
static bool walk(sm_thread *thread, bool entering, bool first) {
    size_t count = 0, size = 0;
    sm_engine.walks++;
    sm_walked_frame *frames = NULL;
    PyFrameObject *frame = PyThreadState_GetFrame(thread->tstate);
    if (entering && frame != NULL)
        Py_SETREF(frame, PyFrame_GetBack(frame));
    bool same = true, whole = true;
    while (frame != NULL && count < MAX_WALK) {
        if (count == size) {
            size = size ? size * 2 : 64;
            sm_walked_frame *more = sm_realloc(frames, size * sizeof *frames);
            if (more == NULL) {
                whole = false;
                break;
            }
            frames = more;
        }
        frames[count++] = (sm_walked_frame){PyFrame_GetCode(frame), PyFrame_GetGlobals(frame), sm_frame_behind(frame),
                                            PyFrame_GetLasti(frame)};
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    for (size_t i = 0; i < count / 2; i++) { /* outermost first */
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
        thread->below = below; /* the others have been left; what is called in their place belongs to the recording */
    if (whole)
        same = sm_engine.recorder->settle(thread, frames, below, count);
    else
        sm_engine.lost_memory++;
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

/* Makes the record belong to the recording that runs now. */
static bool begin_thread(sm_thread *thread, bool entering) {
    thread->session = sm_engine.session;
    thread->id = sm_engine.thread_count++;
    thread->start_ns = unix_ns();
    thread->start_ticks = sm_clock_read(&sm_engine.clock);
    thread->end_ns = 0;
    thread->rest_ticks = 0;
    thread->cpu_start_ns = sm_thread_cpu_ns(thread);
    thread->cpu_ns = -1;
    if (thread->name[0] == '\0') {
        find_name(thread);
        thread->nameless = thread->name[0] ? 0 : 3;
    }
    if (!sm_engine.recorder->thread_start(thread)) {
        sm_engine.lost_memory++;
        thread->session = 0; /* tried again at its next event */
        return false;
    }
    walk(thread, entering, true);
    note_chunk(thread);
    return true;
}

static sm_thread *new_thread(PyThreadState *tstate) {
    PyObject *dict = PyThreadState_GetDict(); /* borrowed */
    sm_thread *thread = dict != NULL ? sm_aligned(64, sizeof *thread + SM_RECORDER_ROOM) : NULL;
    if (thread == NULL)
        return NULL;
    memset(thread, 0, sizeof *thread + SM_RECORDER_ROOM);
    thread->tstate = tstate;
    thread->pthread = pthread_self();
    thread->native_id = (uint64_t)syscall(SYS_gettid);
    thread->main = thread->native_id == (uint64_t)getpid();
    pthread_getcpuclockid(thread->pthread, &thread->cpu_clock);
    PyObject *capsule = PyCapsule_New(thread, CAPSULE, thread_gone);
    if (capsule == NULL || PyDict_SetItemString(dict, CAPSULE, capsule) < 0) {
        if (capsule == NULL)
            free(thread);
        else /* its destructor finds the record ended; the record itself is lost, in want of memory */
            thread->ended = true;
        Py_XDECREF(capsule);
        return NULL;
    }
    Py_DECREF(capsule);
    thread->next = sm_engine.threads;
    sm_engine.threads = thread;
    return thread;
}

static sm_thread *settle(bool entering) {
    PyThreadState *tstate = PyThreadState_Get();
    sm_thread *thread = sm_this_thread;
    if (thread->tstate != tstate) { /* a new thread, or one that has got a new state */
        for (thread = sm_engine.threads; thread != NULL && thread->tstate != tstate; thread = thread->next)
            ;
        if (thread == NULL)
            thread = new_thread(tstate);
        if (thread == NULL) {
            sm_engine.lost_memory++;
            return NULL;
        }
        sm_this_thread = thread;
    }
    if (thread->session != sm_engine.session)
        return begin_thread(thread, entering) ? thread : NULL;
    sm_chunk *chunk = sm_tstate_chunk(tstate);
    bool grown = chunk != NULL && thread->chunk != NULL && chunk->previous == thread->chunk;
    bool shrunk = chunk == thread->chunk_before;
    if (!(grown || shrunk) || chunk == NULL) {
        sm_engine.recorder->pause(thread);
        walk(thread, entering, false); /* another stack: no repair, a switch is no fault */
        sm_engine.recorder->go_on(thread);
    }
    note_chunk(thread);
    return thread;
}

sm_thread *sm_engine_settle(bool entering) {
    if (!sm_engine.running || sm_engine.forked || sm_is_finalizing())
        return NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    sm_engine_look_away();
    sm_thread *thread = settle(entering);
    sm_engine_look_again();
    PyErr_Restore(type, value, traceback);
    return thread;
}

void sm_engine_name(sm_thread *thread) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    thread->nameless--;
    sm_engine_look_away();
    find_name(thread);
    sm_engine_look_again();
    if (thread->name[0] != '\0')
        thread->nameless = 0;
    PyErr_Restore(type, value, traceback);
}

void sm_engine_repair(sm_thread *thread, bool entering) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    sm_engine_pause(thread);
    if (!walk(thread, entering, false))
        sm_engine.repaired++;
    sm_engine_go_on(thread);
    PyErr_Restore(type, value, traceback);
}

/* All records belong to no recording any more: each thread settles anew at its first event of the next one. */
void sm_threads_forget(void) {
    for (sm_thread **link = &sm_engine.threads; *link != NULL;) {
        sm_thread *thread = *link;
        thread->chunk = NO_CHUNK;
        if (thread->unreachable) {
            *link = thread->next;
            sm_free(thread->below_frames);
            free(thread);
        } else {
            link = &thread->next;
        }
    }
    sm_engine.thread_count = 0;
}
