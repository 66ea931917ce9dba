/* The engine, one per process, which knows the threads, starts and stops pairs of a recorder and a source, and writes
 * what the recorders kept. Common events do not come here: a source's callbacks are instantiated with a recorder's
 * inline functions (module/wiring.c).
 *
 * Guard: The GIL for all writes, or the core's lock on free-threaded builds (compat/core_lock.h). An sm_thread belongs
 * to its OS thread while that runs Python. The flush worker (flush.h) reads without the GIL, so some changes need the
 * engine's lock as well: the list of threads, their rows and homes, the output, and recorders' tables that a save reads
 * and that move. Lock order: GIL, engine's lock, sampler's lock. The holder of the engine's lock never waits for the
 * GIL: it runs no Python code and drops no reference. */
#pragma once

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

typedef enum { SM_BY_RETURN, SM_BY_YIELD, SM_BY_EXCEPTION } sm_leaving;

/* A thread. Fields change with the engine's lock, unless they are the thread's own. */
typedef struct sm_thread {
    PyThreadState *tstate;  /* borrowed; &sm_no_tstate, or a copy, once it is being cleared */
    sm_chunk *chunk;        /* its own: the data stack chunk at the last event; a new one means a look at the frames */
    sm_chunk *chunk_before; /* its own: the chunk below it */
    uint32_t id;
    uint32_t session; /* the start to which this record's content belongs */
    uint8_t nameless; /* its own: further events at which to look for its name */
    bool main, ended;
    bool cleared;     /* the interpreter clears the state, or has; its end is not reported again */
    bool late;        /* and events have come meanwhile */
    bool unreachable; /* no thread-local pointer leads here, so it may be freed with the recording */
    bool grouped;     /* its home has its times */
    bool saved;       /* its final row is in the file */
    bool announced;
    bool is_group, runs;               /* of a group: some thread has not ended */
    uint32_t attached;                 /* OS threads whose sm_this_thread leads here */
    uint64_t tstate_id;                /* with `interpreter`, unique to a state, whatever its address */
    PyInterpreterState *interpreter;   /* borrowed, never followed */
    struct sm_thread *home;            /* owner of its row and paths: itself or its group */
    uint32_t folded;                   /* of a group: number of its threads */
    int64_t group_wall, group_cpu;     /* of a group: ticks and ns of its threads; cpu: -1 if unknown */
    int64_t running_wall, running_cpu; /* during a save: of the others */
    uint64_t running_rest;
    pthread_t pthread;
    clockid_t cpu_clock;
    uint64_t native_id;
    int64_t start_ns, end_ns;
    uint64_t start_ticks, end_ticks;
    int64_t cpu_start_ns, cpu_ns;   /* -1 if unknown */
    uint64_t kept;                  /* after its end: bytes that the recorder keeps of it */
    uint64_t rest_ticks;            /* outside of exact pieces, to which the sampled times must add up */
    size_t below;                   /* its own: number of outermost frames that are not recorded */
    const void *(*below_frames)[2]; /* its own, owned: frame and code of each; other stacks (greenlets) have others */
    char name[96];
    char entry[96];   /* of a folded thread: what began it */
    sm_timing timing; /* guarded as timing.h says */
    struct sm_thread *next, *next_free;
    _Alignas(64) unsigned char recorder[]; /* the recorder's state: SM_RECORDER_ROOM bytes */
} sm_thread;

static inline sm_thread *sm_thread_of(const sm_timing *timing) {
    return (sm_thread *)((char *)(uintptr_t)timing - offsetof(sm_thread, timing));
}

typedef struct { /* ticks of a counted entry, in the callee's time and in the caller's */
    double inside, outside;
} sm_cost;

typedef struct { /* of the probes: costs.c */
    sm_cost python, c, resume;
    double piece; /* ticks in an exact piece */
    double deep;  /* more ticks per entry, in the caller's time, if calls below it went deep (estimate.c) */
    double error; /* relative half-width of all of these */
} sm_probe_costs;

typedef enum {
    SM_TIMING_SAMPLED, /* the first calls of a function and long ones by the clock, others by the sampler */
    SM_TIMING_EVERY,
    SM_TIMING_NONE,
} sm_timing_way;

/* A setting of a recorder, which start() takes as a keyword (module/settings.c). Guard of what it leads to: the GIL,
 * and changed only before a start. */
typedef struct {
    const char *name;
    enum { SM_FLAG, SM_NUMBER, SM_WORD } kind;
    void *value;              /* a bool; a uint64_t; an int, which is the number of a word */
    uint64_t standard;        /* the default */
    const char *const *words; /* NULL at the end */
} sm_setting;

/* What the engine itself asks about. Guard: the GIL, and changed only while no worker runs. */
typedef struct {
    struct sm_filter *where; /* borrowed during a start; NULL for all functions */
    const char *hide;        /* files that are left out, as sm_text_lists takes them; borrowed as well */
    const char *c_functions; /* "auto", "all", "none" */
    const char *clock;       /* "auto", "tsc", "monotonic", "simulated" */
    sm_timing_way timing;
    unsigned rate; /* looks of the sampler per second, or 0 for the default */
    bool narrow;   /* where= leaves functions out, whose events are not needed */
    bool apart;    /* leave out threads that already run: skipped_threads.h */
    bool others;   /* record the other interpreters that the program makes, too */
    bool journal;  /* the file has a journal, and is appended to */
    uint64_t flush_ns;
} sm_settings;

typedef struct { /* a frame that was found running */
    PyCodeObject *code;
    PyObject *globals;
    const void *frame;
    int offset; /* of its instruction, in bytes, or -1 before the first */
} sm_walked_frame;

#define SM_FLUSH_MS 1000u /* the default */

#define SM_RECORDER_ROOM 320 /* bytes for any recorder's state of a thread, since recorders may change */

typedef enum {
    SM_THREAD_BEGINS,  /* its home keeps its paths, if that is another */
    SM_THREAD_GOES_ON, /* after its end, while finalizers run as its state is cleared */
    SM_THREAD_ENDS,
} sm_thread_step;

/* What a recorder does with its states of threads, which have the paths of their frames. */
typedef struct {
    /* Follows a thread, with the engine's lock. Returns false if out of memory. */
    bool (*step)(sm_thread *thread, sm_thread_step step);
    /* Makes these frames the path, outermost first, except the first `below`. Returns true if they were. */
    bool (*resync)(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count);
    /* For a source of starts: returns true if the running frame, or its caller (entering), is on the path, so that the
     * stack was not exchanged. May be NULL. */
    bool (*follows)(sm_thread *thread, bool entering);
} sm_thread_states;

/* A recorder. Its functions are called with the GIL, or by the flush worker (`wake`, `has_news`, `carry`, `save`);
 * `save` with the engine's lock. `wake`, `has_news`, `settle`, `carry` and `sum` may be NULL, and `hold` of one beside.
 */
typedef struct sm_recorder {
    const char *name;
    const sm_setting *settings; /* up to one without a name, or NULL if it has none */
    bool beside;                /* of sm_beside, not of sm_main: it needs no thread and no clock */
    bool counts_lines;
    bool without_gil;                         /* it needs no GIL, but compat/core_lock.h */
    bool keeps_sources;                       /* the file has the state of the source files at its end */
    const sm_thread_states *threads;          /* NULL if it has none: `hold` and `wake` then get NULL */
    const sm_sampled *clock;                  /* its use of the sampler's looks; NULL if it needs no clock */
    void (*start)(void);                      /* forgets everything, for a new recording, also of a forked child */
    void (*hold)(sm_thread *thread, bool on); /* around work of seismo on this thread; nests */
    /* Makes the thread's next event take the slow path and call sm_engine_attend(). With the engine's lock, and with
     * the sampler's if it has states of threads. */
    void (*wake)(sm_thread *thread);
    bool (*has_news)(void); /* returns true if the file lacks something that no event has stirred up */
    /* Prepares a save: what needs the interpreter or runs Python code. whole: for an image. */
    void (*settle)(bool whole);
    void (*save)(sm_output *output); /* output->gil: with the GIL, after `settle` */
    /* Copies what only the old file has into the one that will replace it. Returns false if that is impossible. */
    bool (*carry)(sm_output *fresh, const sm_output *old);
    /* Returns, for the calibration, the counted lines, or number [0] and ticks [1] of exact pieces. */
    void (*sum)(double sums[2]);
    void (*end)(bool forget); /* of a recording; forget: frees everything, for another recorder */
} sm_recorder;

/* A source. Its functions are called with the GIL. */
typedef struct sm_source {
    const char *name;
    const char *(*objection)(void);            /* why it cannot be used now, as a plain sentence, or NULL */
    int (*start)(const sm_settings *settings); /* -1 with an exception set */
    void (*stop)(void);
    void (*poll)(void);        /* checks at times, on any thread, what the interpreter does not report; may be NULL */
    void (*begin_again)(void); /* a forked child records again with the same hook; may be NULL */
    bool python_only;          /* C functions are not reported, so "auto" leaves them out */
    bool starts_only;          /* ends of calls are not reported */
    bool frames_in_c;          /* a C function evaluates each frame */
    int (*tool_id)(void);      /* of sys.monitoring, or -1 if it has none now; may be NULL */
} sm_source;

typedef struct {
    const sm_recorder *recorder;
    const sm_source *source;
} sm_pair;

enum { SM_MOST_PAIRS = 2, SM_RECORDINGS = 2 };

/* What is between a start and an end, and its file. Guard: the GIL. What a save reads is changed with the engine's lock
 * as well; what is set by a start, while the flush worker leaves it alone. The losses are counted with the GIL, and a
 * save reads them as they are. */
typedef struct {
    bool running, forked; /* forked: in a child without a recording yet */
    bool stopping;        /* its end has begun */
    bool ahead;           /* the file has its end, and is not written any more; guarded by `disk` (flush.c), too */
    bool at_rest;         /* atomic; no event has come since the flush worker set it, before it saved */
    bool holds_codes, ends_by_signal;
    /* They start in this order, and rows of one may refer to earlier ones. Only the first has states of threads. */
    sm_pair pairs[SM_MOST_PAIRS];
    uint32_t pair_count; /* 0 before the first recording */
    sm_settings settings;
    sm_skipped_threads apart;
    sm_output output; /* the file, or writer is NULL; exchanged with `disk`, too */
    char *meta, *host, *argv, *interpreter, *exit, *folder; /* owned; folder: of relative file names, or NULL */
    sm_moment began;
    sm_clock_error time_bound; /* looked at with `disk`, or when the worker has stopped */
    int64_t end_ns;
    uint64_t interpreters_gone;
    uint64_t interpreters;           /* others since, which are not recorded */
    uint64_t interpreters_recorded;  /* atomic: others that are */
    uint64_t lost_memory, hook_lost; /* losses */
    struct {                         /* the worker's, with `disk` */
        bool wanted;                 /* atomic; changed with the GIL */
        uint64_t pause_ns, next_ns;  /* between two writes; monotonic time of the next one */
        int64_t cpu_ns;              /* of the program, at the last write */
    } flush;
} sm_recording;

/* The main recording has the threads and the clock of the engine. One of a recorder that needs neither stays beside it,
 * with a start and an end of its own. */
extern sm_recording sm_main, sm_beside;
extern sm_recording *const sm_recordings[SM_RECORDINGS];

/* The threads and the clock of the main recording. Guard: as its. */
typedef struct {
    bool unattended; /* atomic; set by the flush worker: no event has checked what the interpreter does not report */
    uint32_t session;
    sm_clock clock;
    sm_thread *threads;    /* newest first; of this session, and of earlier ones while their threads live */
    uint32_t thread_count; /* rows of the recording */
    uint32_t finished;     /* of these, threads that have ended and have rows of their own */
    uint64_t kept;         /* bytes: what the recorder keeps of those */
    bool same_frames;      /* in a forked child: what its parent left out stays out */
    bool from_here;        /* the frames of the starting thread are not recorded */
    uint64_t start_ticks;
    sm_probe_costs costs;
    uint64_t walks;
    uint64_t repaired, late_threads, sites_off, source_changes; /* losses */
    bool cython_unseen;                                         /* calls of Cython 3's functions are not reported */
} sm_engine_state;

/* Guard: the GIL, and the engine's lock for what the flush worker reads. */
extern sm_engine_state sm_engine;
extern PyThreadState sm_no_tstate; /* stands for a state that is gone */
extern SM_FAST_TLS sm_thread *sm_this_thread;
/* Like sm_this_thread, of the interpreter that this OS thread last ran other than the main one. While an event of it is
 * handled, the two are exchanged (source/monitoring/interpreters.c). */
extern SM_FAST_TLS sm_thread *sm_other_thread;
extern sm_thread sm_no_thread; /* never changed, so that any thread may read it */

static inline bool sm_thread_is_of(const sm_thread *thread, const PyThreadState *tstate) {
    return thread->tstate_id == sm_tstate_id(tstate) && thread->interpreter == sm_tstate_interpreter(tstate);
}
static inline bool sm_thread_is_elsewhere(const sm_thread *thread) {
    return thread->interpreter != PyInterpreterState_Get();
}

void sm_engine_forget_interpreter(const PyInterpreterState *interpreter); /* which ends: its address is used again */

/* Return the thread of the current event, or NULL to ignore it. entering: the running frame is not on the path yet. */
sm_thread *sm_engine_thread_here(bool entering);

static inline sm_thread *sm_event_thread(bool entering) {
    sm_thread *thread = sm_this_thread;
    if (SM_LIKELY(sm_tstate_chunk(thread->tstate) == thread->chunk))
        return thread;
    return sm_engine_thread_here(entering);
}

/* Look again for a missing name. code: what is about to run; self: its first argument, or NULL. */
void sm_engine_name(sm_thread *thread, PyCodeObject *code, PyObject *self);

/* Compare the path with the frames, and repair it. */
void sm_engine_repair(sm_thread *thread, bool entering);

/* Take the engine's lock, which is recursive. No common event takes it. */
void sm_engine_lock(void);
void sm_engine_unlock(void);
void sm_engine_lock_renew(void); /* at the start, and in a forked child, which lacks its holder */

static inline bool sm_engine_keeps_time(void) {
    return sm_main.pairs[0].recorder->clock != NULL && sm_main.settings.timing != SM_TIMING_NONE;
}

/* Note that the file lacks something. From anywhere. */
static inline void sm_engine_stir(sm_recording *recording) {
    __atomic_store_n(&recording->at_rest, false, __ATOMIC_SEQ_CST);
}

/* Check what the interpreter does not report, from a recorder's slow path. */
void sm_engine_look_after(void);
static inline bool sm_engine_is_unattended(void) {
    return SM_UNLIKELY(__atomic_load_n(&sm_engine.unattended, __ATOMIC_SEQ_CST));
}
static inline void sm_engine_attend(void) {
    if (sm_engine_is_unattended())
        sm_engine_look_after();
}

#define SM_EACH_PAIR(recording, pair)                                                                                  \
    for (const sm_pair *pair = (recording)->pairs; pair < (recording)->pairs + (recording)->pair_count; pair++)

/* Return this thread or the next one that belongs to the recording, or NULL. */
static inline sm_thread *sm_thread_recorded(sm_thread *thread) {
    while (thread != NULL && thread->session != sm_engine.session)
        thread = thread->next;
    return thread;
}
#define SM_EACH_THREAD(thread)                                                                                         \
    for (sm_thread *thread = sm_thread_recorded(sm_engine.threads); thread != NULL;                                    \
         thread = sm_thread_recorded(thread->next))

/* Hide work of seismo from the recorders. thread: the running one, or NULL for recorders without states of threads. */
void sm_engine_hold(sm_thread *thread, bool on);

/* Open an output of a recording, and take the writer over, also on failure. Return false if out of memory. */
bool sm_engine_open(sm_recording *recording, sm_output *output, sm_writer *writer, bool whole);
/* Write the rows that changed, or with `whole` all. last: the recording ends. With the engine's lock. */
void sm_engine_save(sm_recording *recording, sm_output *output, bool last);
void sm_engine_count_interpreters(sm_recording *recording); /* those that are not recorded, while it runs */
/* Write the thread's row, so that what follows can be read before the next save. With the engine's lock. */
void sm_engine_announce(sm_thread *thread);

/* Find the costs of the probes. rehearse: turns a recording without a file on and off. Return -1 with an exception. */
int sm_engine_find_costs(int (*rehearse)(bool on));
/* Measure the costs of the probes, with the current clock, pair and settings. sound: each kind of call costs something;
 * else the machine disturbed every attempt. Return -1 with an exception. */
int sm_engine_calibrate(int (*rehearse)(bool on), bool *sound);
