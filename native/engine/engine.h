/* The engine: one per process. It knows the threads, starts and stops pairs of a recorder and a source, and writes what
 * the recorders kept. Sources hand it nothing on the way of an event: their callbacks are instantiated with a
 * recorder's inline functions (module/wiring.c), and only what is rare comes here: a thread never seen, a stack that
 * was exchanged.
 *
 * Ownership and threads: everything here is written with the GIL held. An sm_thread belongs to its OS thread while that
 * one runs Python. The flush worker (engine/flush.h) reads it without the GIL, so what it must not find half done is
 * changed with the engine's lock as well: the list of threads, their rows and homes, the output, and the recorders'
 * tables that a save reads and that move when they grow. Lock order: GIL, engine's lock, sampler's lock. The holder of
 * the engine's lock never waits for the GIL: it runs no Python code and drops no reference. Free-threaded builds and
 * subinterpreters are refused at start. */
#ifndef SM_ENGINE_ENGINE_H
#define SM_ENGINE_ENGINE_H

#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "clock/sampler.h"
#include "code/function.h"
#include "compat/compat.h"
#include "engine/output.h"
#include "engine/skipped_threads.h"

/* How a frame or a C function is left. */
typedef enum { SM_BY_RETURN, SM_BY_YIELD, SM_BY_EXCEPTION } sm_leaving;

/* Per thread. The first fields are read at every event. Guard: the GIL, and to change it the engine's lock as well, but
 * for what is said to be the thread's own. */
typedef struct sm_thread {
    PyThreadState *tstate; /* borrowed; &sm_no_tstate, or a copy, once it is being cleared */
    sm_chunk *chunk;       /* its own: the data stack chunk at the last event; another one means a look at the frames */
    sm_chunk *chunk_before; /* its own: the one below it */
    uint32_t id;
    uint32_t session; /* of which start this record's content is */
    uint8_t nameless; /* its own: more events at which to ask for its name */
    bool main, ended;
    bool cleared;                    /* the interpreter clears the state, or has: nothing tells of its end again */
    bool late;                       /* and events have come meanwhile */
    bool unreachable;                /* no thread-local pointer leads here any more: may be freed with the recording */
    bool grouped;                    /* its times are part of those of its home */
    bool saved;                      /* its row is in the file, as it will stay */
    bool announced;                  /* ... as it was at its beginning */
    bool is_group, runs;             /* of a group: some thread of it has not ended yet */
    uint32_t attached;               /* threads of the system whose sm_this_thread leads here */
    uint64_t tstate_id;              /* these two are one state's alone, whatever its address */
    PyInterpreterState *interpreter; /* borrowed, never followed */
    struct sm_thread *home;          /* whose row and paths it has: its own, or those of the group it is folded into */
    uint32_t folded;                 /* of a group: threads that were folded into it */
    int64_t group_wall, group_cpu;   /* of a group: ticks and ns of those that are part of it; cpu -1: unknown */
    int64_t running_wall, running_cpu; /* while it is saved: of the others */
    uint64_t running_rest;
    pthread_t pthread;
    clockid_t cpu_clock;
    uint64_t native_id;
    int64_t start_ns, end_ns; /* Unix time */
    uint64_t start_ticks, end_ticks;
    int64_t cpu_start_ns, cpu_ns; /* -1: unknown */
    uint64_t kept;                /* once it has ended: bytes that the recorder keeps of it */
    uint64_t rest_ticks;          /* that it ran outside of exact pieces: what the sampled times must add up to */
    size_t below;                 /* its own: outermost frames that are no part of the recording */
    const void *(
        *below_frames)[2]; /* its own, owned: each one's frame and code; another stack (a greenlet's) has others */
    char name[96];
    char entry[96];   /* of those that are folded: what began it */
    sm_timing timing; /* see there for its guards */
    struct sm_thread *next, *next_free;
    _Alignas(64) unsigned char recorder[]; /* the recorder's own state of this thread: SM_RECORDER_ROOM bytes */
} sm_thread;

static inline sm_thread *sm_thread_of(const sm_timing *timing) {
    return (sm_thread *)((char *)(uintptr_t)timing - offsetof(sm_thread, timing));
}

typedef struct { /* ticks of an entry that is only counted, in the callee's time and in the caller's */
    double inside, outside;
} sm_cost;

typedef struct { /* of the probes: engine/costs.c */
    sm_cost python, c, resume;
    double piece; /* ticks in an exact piece */
    double deep;  /* ticks that an entry costs more in the caller's time if calls below it went deep (estimate.c) */
    double error; /* relative half-width of all of these */
} sm_probe_costs;

typedef enum {
    SM_TIMING_SAMPLED, /* the first calls of a function and long ones by the clock, the rest by the sampler */
    SM_TIMING_EVERY,   /* each call by the clock */
    SM_TIMING_NONE,    /* calls are counted, and no clock is read at events */
} sm_timing_way;

/* What the engine itself asks about. Recorders have settings of their own, which module/engine.c fills before a start.
 * Guard: the GIL, and changed only while no worker runs. */
typedef struct {
    const char *c_functions; /* "auto", "all", "none" */
    const char *clock;       /* "auto", "tsc", "monotonic", "simulated" */
    sm_timing_way timing;    /* of calls */
    unsigned rate;           /* looks of the sampler a second; 0: as it sees fit */
    bool narrow;             /* where= leaves functions out: ask for no events of theirs */
    bool apart;              /* leave out the threads that run already: engine/skipped_threads.h */
    bool journal;            /* the file has one: it is appended to */
    uint64_t flush_ns;
} sm_settings;

typedef struct { /* a frame that was found running */
    PyCodeObject *code;
    PyObject *globals;
    const void *frame; /* the interpreter's: see sm_tstate_frame */
    int offset;        /* of the instruction it is at, in bytes; -1: before the first */
} sm_walked_frame;

#define SM_FLUSH_MS 1000u /* from one writing of a file to the next, if nothing else is said */

#define SM_RECORDER_ROOM 256 /* bytes of a thread that every recorder's state fits into: one may follow another */

typedef enum {
    SM_THREAD_BEGINS,  /* what is kept of paths is its home's, if that is another */
    SM_THREAD_GOES_ON, /* after its end: finalizers run while its state is cleared */
    SM_THREAD_ENDS,    /* its time has been taken */
} sm_thread_step;

/* What a recorder is to the engine. None of these is on the way of an event; all are called with the GIL, but for what
 * the flush worker calls as well: `wake` and `save`, with the engine's lock. */
typedef struct sm_recorder {
    const char *name;
    size_t thread_size;      /* bytes of its state of a thread; 0: it has none, and `hold` and `wake` are given NULL */
    bool needs_stacks;       /* threads' stacks are walked when they are met, exchanged, or do not fit */
    bool counts_lines;       /* its events are lines, no calls */
    const sm_sampled *clock; /* what it does with the sampler's looks at its threads; NULL: it needs no clock */
    void (*start)(void);     /* a new recording: forget everything */
    /* With the engine's lock. False: out of memory. NULL without state of threads. */
    bool (*thread)(sm_thread *thread, sm_thread_step step);
    /* These frames, outermost first, are the thread's path now; `below` of them are no part of the recording. True if
     * they already were. NULL without stacks. */
    bool (*resync)(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count);
    /* Of a source of starts alone: is the frame that runs, or entering its caller, on the path? Then the stack has not
     * been exchanged. NULL, or false: it has to be walked to know. */
    bool (*follows)(sm_thread *thread, bool entering);
    void (*hold)(sm_thread *thread, bool on); /* around work of ours that takes time on this thread; nests */
    /* The thread's next event takes the slow path, and calls sm_engine_attend(). With the sampler's lock, if there is a
     * thread. */
    void (*wake)(sm_thread *thread);
    /* With the GIL and without the engine's lock, before its holder saves: what only the interpreter knows, and what
     * runs Python code. whole: an image is to be saved. NULL: there is nothing. */
    void (*settle)(bool whole);
    void (*save)(sm_output *output); /* output->gil: the GIL is held, and `settle` was called */
    /* For the calibration: how many lines were counted, or of all exact pieces of the running thread their number [0]
     * and ticks [1]. NULL: there are none. */
    void (*sum)(double sums[2]);
    void (*end)(bool forget); /* of a recording. forget: frees everything, since another recorder begins */
} sm_recorder;

/* What a source is to the engine. All are called with the GIL. */
typedef struct sm_source {
    const char *name;
    /* Why it cannot be used now (a plain sentence); NULL: it can. Itself NULL: it always can. */
    const char *(*objection)(void);
    int (*start)(const sm_settings *settings); /* -1 with an exception set. These two may be NULL where it never can */
    void (*stop)(void);
    void (*poll)(void); /* now and then, from any thread: look after what the interpreter does not tell. May be NULL. */
    void (*begin_again)(void); /* a forked child records anew, under the same hook. May be NULL. */
    bool python_only;          /* C functions are unseen, so that "auto" leaves them out */
    bool starts_only;          /* the ends of calls are unseen: the recorder looks at the frames, and tells no times */
    bool frames_in_c;          /* each frame is evaluated by a C function of its own */
} sm_source;

/* What records: a recorder and the source of its events. */
typedef struct {
    const sm_recorder *recorder;
    const sm_source *source;
} sm_pair;

#define SM_MOST_PAIRS 2

/* Guard: the GIL. What a save reads is changed with the engine's lock as well; what is set by a start, while no worker
 * runs. The losses are counted with the GIL, and a save reads them as they are. */
typedef struct {
    bool running, forked; /* forked: a child that has not said yet how it goes on */
    bool ahead;           /* with the lock of the disk, too: the file has its end already, nothing more is written */
    /* Atomic; both are set by the flush worker before it saves. */
    bool at_rest;    /* no event has come since */
    bool unattended; /* no event has looked after what the interpreter does not tell */
    uint32_t session;
    /* All have one start, end and file; they start in this order and stop in the other, and the rows of one may refer
     * to those of earlier ones. The state of threads, their stacks and their clock are the first one's alone. */
    sm_pair pairs[SM_MOST_PAIRS];
    uint32_t pair_count; /* 0: nothing has been recorded yet */
    sm_settings settings;
    sm_skipped_threads apart; /* threads whose events are unattributed */
    sm_clock clock;     /* who saves takes anchors, with the engine's lock, and others see the scale before or after */
    sm_thread *threads; /* newest first; of this and, while their threads live, of earlier sessions */
    uint32_t thread_count; /* rows of the recording */
    uint32_t finished;     /* of these, threads that have ended and have rows of their own */
    uint64_t kept;         /* bytes: what the recorder keeps of those until the recording ends */
    sm_output output; /* the file; writer NULL: none. Exchanged with the lock of the disk as well (engine/flush.c) */
    bool same_frames; /* a forked child: what its parent left out stays out */
    bool from_here;   /* the frames of the starting thread are no part of the recording */
    char *meta, *host, *argv, *interpreter, *exit; /* owned */
    int64_t start_ns, end_ns;
    sm_moment began; /* start_ns, by other clocks as well */
    uint64_t start_ticks;
    sm_probe_costs costs;
    uint64_t interpreters_gone; /* before the start: see compat/runtime.h */
    uint64_t interpreters;      /* others since, of which nothing is recorded */
    uint64_t walks;             /* times that a stack was walked */
    uint64_t repaired, lost_memory, late_threads, hook_lost, sites_off, source_changes; /* losses */
    bool cython_unseen; /* there are functions of Cython 3, of whose calls the source is not told */
} sm_engine_state;

extern sm_engine_state sm_engine;
extern PyThreadState sm_no_tstate; /* stands in for one that is gone */
extern __thread sm_thread *sm_this_thread __attribute__((tls_model("initial-exec")));

/* The thread of the event at hand, or NULL: ignore the event. entering: the running frame is not on the path yet. */
sm_thread *sm_engine_thread_here(bool entering);

static inline sm_thread *sm_event_thread(bool entering) {
    sm_thread *thread = sm_this_thread;
    if (SM_LIKELY(sm_tstate_chunk(thread->tstate) == thread->chunk))
        return thread;
    return sm_engine_thread_here(entering);
}

/* Asks once more for a name that was not to be had at the first event. code: what is about to run; self: its first
 * argument, or NULL. */
void sm_engine_name(sm_thread *thread, PyCodeObject *code, PyObject *self);

/* Compares the path with the frames and repairs it; counts a repair. */
void sm_engine_repair(sm_thread *thread, bool entering);

/* The engine's lock. Recursive; never taken on the way of a common event. */
void sm_engine_lock(void);
void sm_engine_unlock(void);
void sm_engine_lock_renew(void); /* in a forked child: its holder is not there */

/* Is the time of threads recorded? */
static inline bool sm_engine_keeps_time(void) {
    return sm_engine.pairs[0].recorder->clock != NULL && sm_engine.settings.timing != SM_TIMING_NONE;
}

/* Something has happened that the file lacks. From anywhere. */
static inline void sm_engine_stir(void) {
    __atomic_store_n(&sm_engine.at_rest, false, __ATOMIC_SEQ_CST);
}

/* From a recorder's slow path, with the GIL. */
void sm_engine_look_after(void);
static inline bool sm_engine_is_unattended(void) {
    return SM_UNLIKELY(__atomic_load_n(&sm_engine.unattended, __ATOMIC_SEQ_CST));
}
static inline void sm_engine_attend(void) {
    if (sm_engine_is_unattended())
        sm_engine_look_after();
}

#define SM_EACH_PAIR(pair)                                                                                             \
    for (const sm_pair *pair = sm_engine.pairs; pair < sm_engine.pairs + sm_engine.pair_count; pair++)

/* Around work of ours that is no part of the program: no recorder sees it. thread: the running one; NULL: only those
 * that keep nothing of threads look away. */
void sm_engine_hold(sm_thread *thread, bool on);

/* save.c: an output of this recording; writer: taken over, also on failure. False: out of memory. */
bool sm_engine_open(sm_output *output, sm_writer *writer, bool whole);
/* The rows of what changed (whole: of everything). last: of the recording's end. With the engine's lock. */
void sm_engine_save(sm_output *output, bool last);
/* The thread's row, with the engine's lock: what is written of it before the next save can be read. */
void sm_engine_announce(sm_thread *thread);

/* costs.c: what the probes cost, for these settings. -1 with an exception, like the others here. rehearse: a recording
 * that goes nowhere, on and off. */
int sm_engine_find_costs(int (*rehearse)(bool on));
/* calibrate.c: measures what the probes cost, with the clock, source, recorder and settings at hand. */
int sm_engine_calibrate(int (*rehearse)(bool on));

#endif
