#include "engine/output.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/time.h"

uint64_t sm_output_text(sm_output *output, const char *text) {
    return text == NULL ? 0 : sm_writer_string(output->writer, text, strlen(text));
}

typedef struct {
    uint64_t key; /* the hash of the text */
    const char *text;
    uint64_t number;
} shared_text;

/* Write a text that many functions share only once. The pointer is kept, so the text must live as long as the process.
 */
static uint64_t put_shared(sm_output *output, const char *text) {
    uint64_t hash = sm_hash_text(SM_HASH_START, text);
    shared_text *entry = sm_map_make(&output->texts, hash + (hash == 0), sizeof *entry, 64);
    if (entry != NULL && entry->number != 0 && strcmp(entry->text, text) == 0)
        return entry->number;
    uint64_t number = sm_output_text(output, text);
    if (entry != NULL)
        *entry = (shared_text){entry->key, text, number};
    return number;
}

bool sm_output_open(sm_output *output, sm_writer *writer, bool whole, const sm_about *about) {
    memset(output, 0, sizeof *output);
    if (writer == NULL)
        return false;
    output->writer = writer;
    output->whole = whole;
    if (about->meta != NULL)
        sm_writer_meta(writer, about->meta, strlen(about->meta));
    output->host = sm_output_text(output, about->host);
    output->argv = sm_output_text(output, about->argv);
    output->interpreter = sm_output_text(output, about->interpreter);
    output->clock = sm_output_text(output, about->clock);
    output->source = sm_output_text(output, about->source);
    return true;
}

void sm_output_close(sm_output *output) {
    if (output->writer != NULL)
        sm_writer_free(output->writer);
    sm_free(output->functions);
    sm_map_free(&output->texts);
    memset(output, 0, sizeof *output);
}

sm_writer *sm_output_renew(const sm_output *output, bool by_rows) {
    sm_writer *writer = output->writer;
    sm_writer_look(writer);
    return sm_writer_grown(writer) && (!by_rows || sm_writer_is_replaced(writer)) ? sm_writer_renew(writer) : NULL;
}

bool sm_output_take_place(sm_output *fresh, sm_output *output) {
    bool done = fresh->lost == 0 && sm_writer_take_place(fresh->writer, output->writer);
    if (!done) {
        sm_output_close(fresh);
        return false;
    }
    sm_output_close(output);
    *output = *fresh;
    memset(fresh, 0, sizeof *fresh);
    return true;
}

static void write_function(sm_output *output, const sm_function *function, sm_output_function *known) {
    if (known->number == 0) {
        known->number = ++output->functions_count;
        known->module = put_shared(output, __atomic_load_n(&function->module, __ATOMIC_ACQUIRE));
        known->qualname = sm_output_text(output, function->qualname);
        known->file = put_shared(output, function->file);
    }
    known->flags = __atomic_load_n(&function->flags, __ATOMIC_RELAXED);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_FUNCTIONS_ID] = known->number - 1;
    row[SM_FUNCTIONS_KIND] = function->kind;
    row[SM_FUNCTIONS_MODULE] = (int64_t)known->module;
    row[SM_FUNCTIONS_QUALNAME] = (int64_t)known->qualname;
    row[SM_FUNCTIONS_FILE] = (int64_t)known->file;
    row[SM_FUNCTIONS_LINE] = function->line;
    row[SM_FUNCTIONS_FLAGS] = known->flags;
    row[SM_FUNCTIONS_CODE_BYTES] = __atomic_load_n(&function->code_bytes, __ATOMIC_RELAXED);
    uint64_t lost = sm_writer_lost(output->writer);
    sm_writer_row(output->writer, SM_FUNCTIONS, row, NULL);
    if (sm_writer_lost(output->writer) != lost)
        known->flags = ~known->flags;
}

uint32_t sm_output_function_number(sm_output *output, const sm_function *function) {
    assert(output->writer != NULL && function->id < sm_functions_count());
    if (!sm_grow_to(&output->functions, function->id, &output->functions_size, sizeof *output->functions)) {
        output->lost++;
        return UINT32_MAX;
    }
    sm_output_function *known = &output->functions[function->id];
    if (known->number == 0 || known->flags != __atomic_load_n(&function->flags, __ATOMIC_RELAXED))
        write_function(output, function, known);
    return known->number - 1;
}

void sm_output_loss(sm_output *output, const char *kind, uint64_t count, int64_t thread, const char *detail) {
    assert(output->writer != NULL && kind != NULL && *kind != '\0' && detail != NULL);
    uint32_t id = output->losses++; /* always in the same order, so that a later flush replaces the row */
    uint64_t bit = id < 64 ? (uint64_t)1 << id : 0;
    if (count == 0 && (output->noted & bit) == 0)
        return;
    output->noted = count == 0 ? output->noted & ~bit : output->noted | bit; /* 0 takes it back */
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_LOSSES_ID] = id;
    row[SM_LOSSES_KIND] = (int64_t)sm_output_text(output, kind);
    row[SM_LOSSES_COUNT] = (int64_t)count;
    row[SM_LOSSES_THREAD] = thread;
    row[SM_LOSSES_DETAIL] = (int64_t)sm_output_text(output, detail);
    sm_writer_row(output->writer, SM_LOSSES, row, NULL);
}

void sm_output_unended(sm_output *output, bool unended) {
    char detail[32];
    snprintf(detail, sizeof detail, "process %ld", (long)getpid());
    sm_output_loss(output, "cut-short", unended, -1, detail);
}

void sm_output_process(sm_output *output, const sm_about *about) {
    assert(output->writer != NULL && about != NULL);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_PROCESSES_PID] = getpid();
    row[SM_PROCESSES_PPID] = getppid();
    row[SM_PROCESSES_HOST] = (int64_t)output->host;
    row[SM_PROCESSES_ARGV] = (int64_t)output->argv;
    row[SM_PROCESSES_INTERPRETER] = (int64_t)output->interpreter;
    row[SM_PROCESSES_START_NS] = about->start_ns;
    row[SM_PROCESSES_END_NS] = about->end_ns;
    row[SM_PROCESSES_EXIT] = (int64_t)sm_output_text(output, about->exit);
    row[SM_PROCESSES_CLOCK] = (int64_t)output->clock;
    row[SM_PROCESSES_WAITS] = (int64_t)sm_output_text(output, about->waits);
    row[SM_PROCESSES_SOURCE] = (int64_t)output->source;
    row[SM_PROCESSES_BOOT] = (int64_t)sm_output_text(output, about->boot_ns > 0 ? sm_boot_id() : "");
    row[SM_PROCESSES_BOOT_NS] = about->boot_ns;
    row[SM_PROCESSES_UNIX_BOUND_NS] = about->unix_bound_ns;
    row[SM_PROCESSES_TIME_BOUND_NS] = about->time_bound_ns;
    row[SM_PROCESSES_STOP_NS] = about->stop_ns;
    sm_writer_row(output->writer, SM_PROCESSES, row, about->costs);
}
