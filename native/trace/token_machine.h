/* The machine that reads tokens, for the files of this folder; token_machine.c explains it. No Python.h. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "trace/call.h"

#define SM_MACHINE_DEEPEST (1 << 20) /* most calls that are open at once */
#define SM_MACHINE_WAITING (1 << 18)
#define SM_MACHINE_LATEST ((int64_t)1 << 62)
/* Limit of the total length of paths, plus so much per byte of tokens. Valid files take a fraction. */
#define SM_MACHINE_STEPS ((uint64_t)1 << 26)
#define SM_MACHINE_STEPS_OF_BYTE ((uint64_t)256)

typedef struct {
    double weight; /* weight of all segments since the previous mark */
    uint32_t open; /* index in the pool, or in `about` for an instant */
    uint32_t what;
} sm_waiting;

typedef struct {
    sm_call call;
    uint32_t next; /* the next free call + 1, or 0 */
} sm_open_call;

typedef struct {
    uint64_t call, others; /* call of the step that paused last; number of paused steps */
} sm_paused;

typedef struct {
    uint64_t kind, in;
    size_t at, length;
} sm_instant_text;

typedef struct {
    const sm_trace *journal;
    const sm_stream *stream;
    const sm_sink *sink;
    sm_wrong *wrong;
    uint32_t *stack;    /* owned; indices in the pool */
    sm_open_call *pool; /* owned */
    sm_waiting *event;  /* owned */
    sm_paused *of_node; /* owned; by rank - 1; made at the first pause */
    sm_buffer texts;
    sm_buffer about; /* an sm_instant_text for each text */
    size_t depth, stack_room, pooled, pool_room, events, event_room;
    uint32_t free_call; /* the first free call + 1, or 0 */
    uint64_t number;
    double weight; /* weight of all segments since the mark */
    int64_t mark;  /* time of the last mark */
    int64_t begins;
    int64_t unit_base;
    uint64_t units;
    uint64_t steps_left;
    int64_t place; /* current place in the dictionary */
    bool stopped, failed, begun;
    bool left_out;    /* calls are missing, so which step a resume continues is a guess */
    uint32_t started; /* flag of calls that begin without an event */
} sm_machine;

/* Give all waiting events their times. total: the weight up to `to`. known: the clock was read at `to`. */
void sm_machine_settle(sm_machine *m, int64_t to, double total, bool known);
/* Give all waiting events times before `to`. */
void sm_machine_settle_before(sm_machine *m, int64_t to);
void sm_machine_end_all(sm_machine *m, uint32_t how);
int64_t sm_machine_root(const sm_machine *m);
const sm_piece *sm_machine_head(const sm_machine *m, size_t block);
/* Enter a block. follows: everything before it was read. Return false if the block cannot be read. */
bool sm_machine_enter(sm_machine *m, const sm_piece *head, bool follows);
/* Read a block's tokens. Clear *whole if they end early. */
void sm_machine_read(sm_machine *m, const uint8_t *bytes, size_t size, double unit, bool *whole);
void sm_machine_free(sm_machine *m);
