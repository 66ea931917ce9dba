#include "event/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "event/threads.h"

static uint64_t put_text(sm_output *output, const char *text) {
    return text == NULL ? 0 : sm_writer_string(output->writer, text, strlen(text));
}

bool sm_output_open(sm_output *output, sm_writer *writer, bool whole) {
    memset(output, 0, sizeof *output);
    if (writer == NULL)
        return false;
    output->writer = writer;
    output->whole = whole;
    if (sm_engine.meta != NULL)
        sm_writer_meta(writer, sm_engine.meta, strlen(sm_engine.meta));
    output->host = put_text(output, sm_engine.host);
    output->argv = put_text(output, sm_engine.argv);
    output->interpreter = put_text(output, sm_engine.interpreter);
    static const char *const clocks[] = {"tsc", "monotonic", "simulated"};
    char clock[256];
    snprintf(clock, sizeof clock, "%s: %s", clocks[sm_engine.clock.kind], sm_engine.clock.reason);
    output->clock = put_text(output, clock);
    output->source = put_text(output, sm_engine.source->name);
    return true;
}

void sm_output_close(sm_output *output) {
    if (output->writer != NULL)
        sm_writer_free(output->writer);
    sm_free(output->functions);
    memset(output, 0, sizeof *output);
}

static void write_function(sm_output *output, const sm_function *function, sm_output_function *known) {
    if (known->number == 0) {
        known->number = ++output->functions_count;
        known->module = put_text(output, function->module);
        known->qualname = put_text(output, function->qualname);
        known->file = put_text(output, function->file);
    }
    known->flags = function->flags;
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_FUNCTIONS_ID] = known->number - 1;
    row[SM_FUNCTIONS_KIND] = function->kind;
    row[SM_FUNCTIONS_MODULE] = (int64_t)known->module;
    row[SM_FUNCTIONS_QUALNAME] = (int64_t)known->qualname;
    row[SM_FUNCTIONS_FILE] = (int64_t)known->file;
    row[SM_FUNCTIONS_LINE] = function->line;
    row[SM_FUNCTIONS_FLAGS] = function->flags;
    uint64_t lost = sm_writer_lost(output->writer);
    sm_writer_row(output->writer, SM_FUNCTIONS, row, NULL);
    if (sm_writer_lost(output->writer) != lost)
        known->flags = ~function->flags; /* not taken: to be written again */
}

uint32_t sm_output_function_number(sm_output *output, const sm_function *function) {
    if (function->id >= output->functions_size) {
        uint32_t size = sm_functions_count() + 256;
        sm_output_function *grown = sm_realloc(output->functions, size * sizeof *grown);
        if (grown == NULL) {
            sm_engine.lost_memory++;
            return UINT32_MAX;
        }
        memset(grown + output->functions_size, 0, (size - output->functions_size) * sizeof *grown);
        output->functions = grown;
        output->functions_size = size;
    }
    sm_output_function *known = &output->functions[function->id];
    if (known->number == 0 || known->flags != function->flags)
        write_function(output, function, known);
    return known->number - 1;
}

void sm_output_loss(sm_output *output, const char *kind, uint64_t count, int64_t thread, const char *detail) {
    uint32_t id = output->losses++; /* always the same order, so that a later flush replaces the row */
    if (count == 0)
        return;
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_LOSSES_ID] = id;
    row[SM_LOSSES_KIND] = (int64_t)put_text(output, kind);
    row[SM_LOSSES_COUNT] = (int64_t)count;
    row[SM_LOSSES_THREAD] = thread;
    row[SM_LOSSES_DETAIL] = (int64_t)put_text(output, detail);
    sm_writer_row(output->writer, SM_LOSSES, row, NULL);
}

static int64_t now_unix_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void write_process(sm_output *output, int64_t now_ns) {
    const sm_clock *clock = &sm_engine.clock;
    int64_t row[SM_MAX_COLUMNS] = {0};
    double reals[SM_MAX_COLUMNS] = {0};
    row[SM_PROCESSES_PID] = getpid();
    row[SM_PROCESSES_PPID] = getppid();
    row[SM_PROCESSES_HOST] = (int64_t)output->host;
    row[SM_PROCESSES_ARGV] = (int64_t)output->argv;
    row[SM_PROCESSES_INTERPRETER] = (int64_t)output->interpreter;
    row[SM_PROCESSES_START_NS] = sm_engine.start_ns;
    row[SM_PROCESSES_END_NS] = sm_engine.running ? now_ns : sm_engine.end_ns;
    row[SM_PROCESSES_EXIT] = (int64_t)put_text(output, sm_engine.exit);
    row[SM_PROCESSES_CLOCK] = (int64_t)output->clock;
    row[SM_PROCESSES_SOURCE] = (int64_t)output->source;
    reals[SM_PROCESSES_PYTHON_INSIDE] = sm_clock_ns(clock, sm_engine.python.inside);
    reals[SM_PROCESSES_PYTHON_OUTSIDE] = sm_clock_ns(clock, sm_engine.python.outside);
    reals[SM_PROCESSES_C_INSIDE] = sm_clock_ns(clock, sm_engine.c.inside);
    reals[SM_PROCESSES_C_OUTSIDE] = sm_clock_ns(clock, sm_engine.c.outside);
    reals[SM_PROCESSES_RESUME_INSIDE] = sm_clock_ns(clock, sm_engine.resume.inside);
    reals[SM_PROCESSES_RESUME_OUTSIDE] = sm_clock_ns(clock, sm_engine.resume.outside);
    reals[SM_PROCESSES_CLOCK_NS] = sm_clock_ns(clock, clock->read_ticks);
    reals[SM_PROCESSES_COST_ERROR] = sm_engine.cost_error;
    sm_writer_row(output->writer, SM_PROCESSES, row, reals);
}

static void write_threads(sm_output *output, uint64_t now, int64_t now_ns) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session != sm_engine.session)
            continue;
        int64_t row[SM_MAX_COLUMNS] = {0};
        uint64_t end = thread->end_ns ? thread->end_ticks : now;
        int64_t cpu = thread->cpu_ns;
        if (!thread->ended && sm_engine.running) {
            int64_t used = sm_thread_cpu_ns(thread);
            if (used >= 0 && thread->cpu_start_ns >= 0)
                thread->cpu_ns = cpu = used - thread->cpu_start_ns;
        }
        row[SM_THREADS_ID] = thread->id;
        row[SM_THREADS_NATIVE_ID] = (int64_t)thread->native_id;
        row[SM_THREADS_NAME] = (int64_t)put_text(output, thread->name);
        row[SM_THREADS_START_NS] = thread->start_ns;
        row[SM_THREADS_END_NS] = thread->end_ns ? thread->end_ns : now_ns;
        row[SM_THREADS_WALL_NS] = (int64_t)sm_clock_ns(&sm_engine.clock, (double)(end - thread->start_ticks));
        row[SM_THREADS_CPU_NS] = cpu;
        row[SM_THREADS_MAIN] = thread->main;
        row[SM_THREADS_REST_NS] = (int64_t)sm_clock_ns(&sm_engine.clock, (double)thread->rest_ticks);
        sm_writer_row(output->writer, SM_THREADS, row, NULL);
    }
}

void sm_output_save(sm_output *output, bool last) {
    int64_t now_ns = now_unix_ns();
    uint64_t now = sm_clock_read(&sm_engine.clock);
    sm_clock_anchor(&sm_engine.clock);
    output->losses = 0;
    write_process(output, now_ns);
    write_threads(output, now, now_ns);
    sm_engine.recorder->save(output);
    sm_output_loss(output, "repaired", sm_engine.repaired, -1,
                   "times that a path did not match the interpreter's frames and was set right");
    sm_output_loss(output, "late-thread", sm_engine.late_threads, -1,
                   "threads found only after they had begun; their first events are missing");
    sm_output_loss(output, "hook-lost", sm_engine.hook_lost, -1,
                   "the program or another tool took the hook away; what came after is missing");
    sm_output_loss(
        output, "source-changed", sm_engine.source_changes, -1,
        "deep recursion: from there on the profile function was used, whose cost is not taken out of the times");
    sm_output_loss(output, "out-of-memory", sm_engine.lost_memory, -1, "events or rows dropped for want of memory");
    sm_output_loss(output, "clock-drift", sm_engine.clock.drifts, -1,
                   "times that the processor's counter ran off the monotonic clock by more than 1 in 1,000");
    int error = sm_writer_error(output->writer);
    if (error != 0) {
        char detail[128];
        snprintf(detail, sizeof detail, "a write failed: %s", strerror(error));
        sm_output_loss(output, "write-failed", 1, -1, detail);
    }
    if (last)
        sm_writer_finish(output->writer);
    else
        sm_writer_flush(output->writer);
}
