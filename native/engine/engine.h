/* The engine: one per process. It knows the threads, starts and stops one source and one recorder, and writes what the
 * recorder kept. Sources hand it nothing on the way of an event: their callbacks are instantiated with a recorder's
 * inline functions (module/wiring.c), and only what is rare comes here: a thread never seen, a stack that was
 * exchanged.
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
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "code/function.h"
#include "compat/compat.h"
#include "engine/output.h"
#include "engine/skipped_threads.h"

/* How a frame or a C function is left. */
typedef enum { SM_BY_RETURN, SM_BY_YIELD, SM_BY_EXCEPTION } sm_leaving;

/* Per thread. The first fields are read at every event. What is not said to be the thread's own is changed with the
 * engine's lock. */
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
    char entry[96]; /* of those that are folded: what began it */
    struct sm_thread *next, *next_free;
    _Alignas(64) unsigned char recorder[]; /* the recorder's own state of this thread */
} sm_thread;

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

typedef struct {
    const char *c_functions;   /* "auto", "all", "none" */
    const char *clock;         /* "auto", "tsc", "monotonic", "simulated" */
    sm_timing_way timing;      /* of calls */
    unsigned rate;             /* looks of the sampler a second; 0: as it sees fit */
    bool narrow;               /* where= leaves functions out: ask for no events of theirs */
    bool only_c;               /* where= leaves all Python functions out */
    bool apart;                /* leave out the threads that run already: engine/skipped_threads.h */
    bool journal;              /* of calls: a trace, with the time of each event */
    uint32_t journal_depth;    /* of the deepest calls in it; 0: any */
    uint64_t journal_least_ns; /* of the shortest */
    uint64_t flush_ns;
    uint64_t max_paths;
    bool lines;        /* of objects: which line made an object, not only its type */
    bool paths;        /* of calls: objects are recorded alongside, with the path that runs */
    uint64_t max_live; /* of objects: objects that are kept track of at once; more are sampled */
} sm_settings;

typedef struct { /* a frame that was found running */
    PyCodeObject *code;
    PyObject *globals;
    const void *frame; /* the interpreter's: see sm_tstate_frame */
    int offset;        /* of the instruction it is at, in bytes; -1: before the first */
} sm_walked_frame;

/* What holds for a recording that says nothing else of it; Python has them as seismo._core.DEFAULTS. */
#define SM_FLUSH_MS 1000u     /* from one writing of a file to the next */
#define SM_MAX_PATHS 1000000u /* of a call tree; calls on more paths are counted flat */
#define SM_MAX_LIVE 16000000u /* objects that are kept track of at once; of more, a sample */

#define SM_RECORDER_ROOM 384 /* bytes of a thread that every recorder's state fits into: one may follow another */

/* What a recorder is to the engine. None of these is on the way of an event; all are called with the GIL, but for what
 * the flush worker calls as well: `wake`, `save` and `rest`, with the engine's lock. */
typedef struct sm_recorder {
    const char *name;
    bool threadless;                            /* keeps nothing of a thread: wake, pause and go_on are given NULL */
    void (*start)(const sm_settings *settings); /* a new recording: forget everything */
    /* What it keeps of paths is its home's, if that is another. False: out of memory. */
    bool (*thread_start)(sm_thread *thread);
    void (*thread_end)(sm_thread *thread);
    bool (*thread_again)(sm_thread *thread); /* after its end: finalizers run while its state is cleared */
    /* These frames, outermost first, are the thread's path now; `below` of them are no part of the recording. True if
     * they already were. */
    bool (*resync)(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count);
    /* Of a source of starts alone: is the frame that runs, or entering its caller, on the path? Then the stack has not
     * been exchanged. NULL, or false: it has to be walked to know. */
    bool (*follows)(sm_thread *thread, bool entering);
    void (*code_died)(sm_code_entry *entry); /* a code object that has a function goes away */
    /* From the ticker's thread, without the GIL: the next event is to look at the clock. NULL: there is no need. */
    void (*poke)(void);
    void (*pause)(sm_thread *thread); /* before and */
    void (*go_on)(sm_thread *thread); /* after work of ours that takes time on this thread */
    /* With the GIL and without the engine's lock, before its holder saves: what only the interpreter knows, and what
     * runs Python code. whole: an image is to be saved. NULL: there is nothing. */
    void (*settle)(bool whole);
    /* The thread's next event takes the slow path, and calls sm_engine_attend(). */
    void (*wake)(sm_thread *thread);
    void (*save)(sm_output *output); /* output->gil: the GIL is held, and `settle` was called */
    void (*stop)(void);
    void (*forget)(void); /* frees everything: another recorder begins */
    /* For the calibration. Of all exact pieces of the running thread: their ticks [0] and their number [1]. NULL: there
     * are none. */
    void (*timed)(double sums[2]);
    /* How many events have been counted, if they are no calls; else NULL. */
    uint64_t (*events)(void);
    /* Ticks that the thread ran outside of exact pieces. */
    uint64_t (*rest)(sm_thread *thread, uint64_t now);
    bool (*check)(void); /* consistency, for debug builds and tests */
} sm_recorder;

/* What a source is to the engine. */
typedef struct sm_source {
    const char *name;
    /* NULL: can be used now; else why not (a plain sentence). */
    const char *(*objection)(const sm_settings *settings);
    int (*start)(const sm_settings *settings); /* -1 with an exception set */
    void (*stop)(void);
    void (*poll)(void); /* now and then, from any thread: look after what the interpreter does not tell. May be NULL. */
    void (*begin_again)(void); /* a forked child records anew, under the same hook. May be NULL. */
    bool python_only;          /* C functions are unseen, so that "auto" leaves them out */
    bool starts_only;          /* the ends of calls are unseen: the recorder looks at the frames, and tells no times */
    bool frames_in_c;          /* each frame is evaluated by a C function of its own */
} sm_source;

/* What records: a recorder and the source of its events. */
typedef struct {
    const sm_recorder *recorder; /* NULL: none */
    const sm_source *source;
} sm_pair;

typedef struct {
    bool running, forked; /* forked: a child that has not said yet how it goes on */
    bool ahead;           /* with the lock of the disk, too: the file has its end already, nothing more is written */
    /* Atomic; both are set by the flush worker before it saves. */
    bool at_rest;    /* no event has come since */
    bool unattended; /* no event has looked after what the interpreter does not tell */
    uint32_t session;
    const sm_recorder *recorder;
    const sm_source *source;
    /* A second one alongside them, with the same start, end and file: it starts after them and stops before them,
     * its rows may refer to theirs. Threads are met, timed and walked for the main recorder only: it is threadless, and
     * of the functions for threads nothing but wake, pause and go_on is called. */
    sm_pair alongside;
    sm_settings settings;
    sm_skipped_threads apart; /* threads whose events are unattributed */
    sm_clock clock;
    sm_thread *threads;    /* newest first; of this and, while their threads live, of earlier sessions */
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

/* Around work of ours that is no part of the program: the threadless recorders look away. */
static inline void sm_engine_look_away(void) {
    if (sm_engine.recorder != NULL && sm_engine.recorder->threadless)
        sm_engine.recorder->pause(NULL);
    if (sm_engine.alongside.recorder != NULL)
        sm_engine.alongside.recorder->pause(NULL);
}

static inline void sm_engine_look_again(void) {
    if (sm_engine.alongside.recorder != NULL)
        sm_engine.alongside.recorder->go_on(NULL);
    if (sm_engine.recorder != NULL && sm_engine.recorder->threadless)
        sm_engine.recorder->go_on(NULL);
}

/* All of them do. thread: the running one; NULL if it has not been met. */
static inline void sm_engine_pause(sm_thread *thread) {
    if (thread != NULL && !sm_engine.recorder->threadless)
        sm_engine.recorder->pause(thread);
    sm_engine_look_away();
}

static inline void sm_engine_go_on(sm_thread *thread) {
    sm_engine_look_again();
    if (thread != NULL && !sm_engine.recorder->threadless)
        sm_engine.recorder->go_on(thread);
}

int sm_engine_init(void); /* once per process; -1 with an exception */
/* alongside: NULL for none. If it cannot be started, nothing is. */
int sm_engine_start(const sm_pair *main, const sm_pair *alongside, const sm_settings *settings, bool calibrate,
                    bool running, int fd, const char *meta);
void sm_engine_stop(const char *exit);
PyObject *sm_engine_snapshot(void);
/* save.c: an output of this recording; writer: taken over, also on failure. False: out of memory. */
bool sm_engine_open(sm_output *output, sm_writer *writer, bool whole);
/* The rows of what changed (whole: of everything). last: of the recording's end. With the engine's lock. */
void sm_engine_save(sm_output *output, bool last);
/* The thread's row, with the engine's lock: what is written of it before the next save can be read. */
void sm_engine_announce(sm_thread *thread);
int sm_engine_after_fork(int fd, const char *meta);

/* costs.c: what the probes cost, for these settings. -1 with an exception. */
int sm_engine_find_costs(void);
/* calibrate.c: measures what the probes cost, with the clock, source, recorder and settings at hand. -1 with an
 * exception. */
int sm_engine_calibrate(void);
/* For it: a recording that goes nowhere, on and off. */
int sm_engine_rehearse(bool on);

#endif
