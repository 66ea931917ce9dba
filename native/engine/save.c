/* The rows of a recording that the engine writes itself. */
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "clock/sampler.h"
#include "clock/waits.h"
#include "compat/runtime.h"
#include "engine/threads.h"

static sm_about about(const sm_recording *recording) {
    return (sm_about){.meta = recording->meta,
                      .host = recording->host,
                      .argv = recording->argv,
                      .interpreter = recording->interpreter,
                      .source = recording->pairs[0].source->name,
                      .waits = recording == &sm_main && sm_engine_keeps_time() ? sm_waits_known() : NULL,
                      .exit = recording->exit,
                      .start_ns = recording->began.unix_ns,
                      .boot_ns = recording->began.boot_ns,
                      .unix_bound_ns = recording->began.unix_bound_ns,
                      .time_bound_ns = recording->time_bound.most_ns,
                      .end_ns = recording->running ? sm_moment_since(&recording->began) : recording->end_ns};
}

bool sm_engine_open(sm_recording *recording, sm_output *output, sm_writer *writer, bool whole) {
    char clock[256];
    snprintf(clock, sizeof clock, "%s: %s", sm_clock_name(&sm_engine.clock), sm_engine.clock.reason);
    sm_about of = about(recording);
    of.clock = recording == &sm_main ? clock : NULL;
    return sm_output_open(output, writer, whole, &of);
}

static double cost_ns(double ticks) {
    return sm_clock_ns(&sm_engine.clock, ticks);
}

/* Write the facts of the process. Costs are the main recording's. */
static void write_process(const sm_recording *recording, sm_output *output) {
    sm_about of = about(recording);
    double reals[SM_MAX_COLUMNS] = {0};
    reals[SM_PROCESSES_PYTHON_INSIDE] = cost_ns(sm_engine.costs.python.inside);
    reals[SM_PROCESSES_PYTHON_OUTSIDE] = cost_ns(sm_engine.costs.python.outside);
    reals[SM_PROCESSES_C_INSIDE] = cost_ns(sm_engine.costs.c.inside);
    reals[SM_PROCESSES_C_OUTSIDE] = cost_ns(sm_engine.costs.c.outside);
    reals[SM_PROCESSES_RESUME_INSIDE] = cost_ns(sm_engine.costs.resume.inside);
    reals[SM_PROCESSES_RESUME_OUTSIDE] = cost_ns(sm_engine.costs.resume.outside);
    reals[SM_PROCESSES_CLOCK_NS] = sm_clock_ns(&sm_engine.clock, sm_engine.clock.read_ticks);
    reals[SM_PROCESSES_COST_ERROR] = sm_engine.costs.error;
    reals[SM_PROCESSES_PIECE_NS] = cost_ns(sm_engine.costs.piece);
    reals[SM_PROCESSES_DEEP_NS] = cost_ns(sm_engine.costs.deep);
    of.stop_ns = recording == &sm_main ? (int64_t)cost_ns((double)sm_sampler_stopped()) : 0;
    of.costs = recording == &sm_main ? reals : NULL;
    sm_output_process(output, &of);
}

/* Update a thread's CPU time, unless it has ended or cannot be read. */
static void look_at_cpu(sm_thread *thread) {
    if (sm_main.running)
        sm_thread_take_cpu(thread);
    if (!thread->ended)
        sm_thread_take_rest(thread);
}

static void write_thread(sm_output *output, const sm_thread *thread, uint64_t now, int64_t now_ns) {
    char text[sizeof thread->name + sizeof thread->entry + 4];
    const char *name = thread->is_group ? sm_group_name(thread, text, sizeof text) : thread->name;
    uint64_t end = thread->end_ns ? thread->end_ticks : now, ticks = sm_ticks_since(thread->start_ticks, end);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_THREADS_ID] = thread->id;
    row[SM_THREADS_NATIVE_ID] = (int64_t)thread->native_id;
    row[SM_THREADS_NAME] = (int64_t)sm_output_text(output, name);
    row[SM_THREADS_START_NS] = thread->start_ns;
    row[SM_THREADS_END_NS] = thread->end_ns && !thread->runs ? thread->end_ns : now_ns;
    row[SM_THREADS_CPU_NS] = thread->cpu_ns;
    if (thread->is_group) {
        ticks = (uint64_t)(thread->group_wall + thread->running_wall);
        row[SM_THREADS_CPU_NS] = thread->group_cpu < 0 ? -1 : thread->group_cpu + thread->running_cpu;
        row[SM_THREADS_FOLDED] = thread->folded;
    }
    row[SM_THREADS_WALL_NS] = (int64_t)sm_clock_ns(&sm_engine.clock, (double)ticks);
    row[SM_THREADS_MAIN] = thread->main;
    row[SM_THREADS_REST_NS] =
        (int64_t)sm_clock_ns(&sm_engine.clock, (double)(thread->rest_ticks + thread->running_rest));
    sm_writer_row(output->writer, SM_THREADS, row, NULL);
}

void sm_engine_announce(sm_thread *thread) {
    thread = thread->home;
    if (thread->announced)
        return;
    write_thread(&sm_main.output, thread, sm_clock_read(&sm_engine.clock), sm_moment_since(&sm_main.began));
    thread->announced = true;
}

static uint64_t write_threads(sm_output *output, uint64_t now, int64_t now_ns) {
    uint64_t folded = 0;
    SM_EACH_THREAD (thread)
        look_at_cpu(thread);
    sm_threads_sum(now);
    SM_EACH_THREAD (thread) {
        if (thread->home != thread || thread->id == UINT32_MAX)
            continue;
        folded += thread->folded;
        bool final = thread->ended && !thread->is_group && !thread->late;
        if (final && thread->saved && !sm_output_all(output))
            continue;
        write_thread(output, thread, now, now_ns);
        if (!output->whole)
            thread->saved = final;
    }
    return folded;
}

/* Write what only the main recording can lose. */
static void write_losses(sm_output *output, uint64_t folded) {
    sm_output_loss(output, "repaired", sm_engine.repaired, -1,
                   "times that a path did not match the interpreter's frames and was corrected");
    sm_output_loss(output, "late-thread", sm_engine.late_threads, -1,
                   "threads that were found only after they had begun; their first events are missing");
    char detail[160];
    snprintf(detail, sizeof detail,
             "threads that began after %d had ended, or fewer with paths of %d MB, counted together by name and entry",
             SM_THREADS_APART, SM_THREADS_KEEP >> 20);
    sm_output_loss(output, "threads-folded", folded, -1, detail);
    sm_output_loss(
        output, "source-changed", sm_engine.source_changes, -1,
        "deep recursion: from there on the profile function was used, whose cost is not taken out of the times");
    sm_output_loss(output, "cython-unseen", sm_engine.cython_unseen, -1,
                   "the profile function does not report calls of Cython 3's functions: their time is their callers'");
    sm_output_loss(output, "clock-drift", sm_engine.clock.drifts, -1,
                   "times that the processor's counter ran off the monotonic clock by more than 1 in 1,000");
}

void sm_engine_count_interpreters(sm_recording *recording) {
    if (recording->running)
        recording->interpreters = sm_interpreters_made() - recording->interpreters_gone -
                                  __atomic_load_n(&recording->interpreters_recorded, __ATOMIC_RELAXED);
}

void sm_engine_save(sm_recording *recording, sm_output *output, bool last) {
    bool main = recording == &sm_main;
    int64_t now_ns = sm_moment_since(&recording->began);
    uint64_t now = sm_clock_read(&sm_engine.clock), folded = 0;
    output->losses = 0;
    if (main)
        sm_clock_anchor(&sm_engine.clock);
    write_process(recording, output);
    if (main)
        folded = write_threads(output, now, now_ns);
    SM_EACH_PAIR (recording, pair) {
        pair->recorder->save(output);
        if (last && pair->recorder->keeps_sources)
            sm_output_sources(output, recording->folder);
    }
    if (main)
        write_losses(output, folded);
    sm_output_loss(output, "hook-lost", recording->hook_lost, -1,
                   "the program or another tool took the hook away; what came after is missing");
    sm_engine_count_interpreters(recording);
    sm_output_loss(
        output, "other-interpreters", recording->interpreters, -1,
        "interpreters other than the main one (subinterpreters, pools of them): what they ran is not recorded");
    /* A failed write is no loss: a reader of these rows has everything that was written before. */
    sm_output_loss(output, "out-of-memory", recording->lost_memory + sm_output_lost(output), -1,
                   "events or rows dropped for want of memory");
    sm_output_unended(output, !last);
}
