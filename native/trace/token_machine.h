/* The machine that reads tokens, for the files of this folder that feed it: token_machine.c tells the story. No
 * Python.h. */
#ifndef SM_TRACE_TOKEN_MACHINE_H
#define SM_TRACE_TOKEN_MACHINE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "trace/call.h"

#define SM_MACHINE_DEEPEST (1 << 20)         /* calls that are open at once, at most */
#define SM_MACHINE_WAITING (1 << 18)         /* events that wait for their time, at most, from one block to the next */
#define SM_MACHINE_LATEST ((int64_t)1 << 62) /* ns: no time is later */
/* Nodes that paths may have in all, beside so many for each byte of tokens: what is honest takes a fraction. */
#define SM_MACHINE_STEPS ((uint64_t)1 << 26)
#define SM_MACHINE_STEPS_OF_BYTE ((uint64_t)256)

/* An event that waits for its time. */
typedef struct {
    double weight; /* of all segments since the mark before */
    uint32_t open; /* in the pool; of an instant: where it is in texts */
    uint32_t what;
} sm_waiting;

typedef struct {
    sm_call call;
    uint32_t next; /* of the free ones */
} sm_open_call;

typedef struct {
    uint64_t call, others; /* the call of the one that paused last, and how many are paused in all */
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
    uint32_t *stack;    /* owned; numbers in the pool */
    sm_open_call *pool; /* owned */
    sm_waiting *event;  /* owned */
    sm_paused *of_node; /* owned; by rank, from 1; made at the first pause */
    sm_buffer texts;    /* bytes of instants that wait, and what is known of them */
    sm_buffer about;    /* ... as an array of text */
    size_t depth, stack_room, pooled, pool_room, events, event_room;
    uint32_t free_call; /* + 1; 0: none */
    uint64_t number;    /* of the next call */
    double weight;      /* of segments since the mark */
    int64_t mark;       /* its time */
    int64_t begins;     /* where reading began */
    int64_t unit_base;  /* the time that units count from */
    uint64_t units;
    uint64_t steps_left; /* of paths */
    int64_t place;       /* current, in the dictionary */
    bool stopped, failed, begun;
    bool left_out;    /* calls are missing: which step of a generator continues which is a guess */
    uint32_t started; /* flag of calls that are open without an event */
} sm_machine;

/* Gives all that waits its time. total: the weight up to `to`. known: the clock was read at `to`. */
void sm_machine_settle(sm_machine *m, int64_t to, double total, bool known);
/* Gives all that waits its time, which lies before `to`. */
void sm_machine_settle_before(sm_machine *m, int64_t to);
/* An event ends the segment of the place that is current. */
void sm_machine_pass_segment(sm_machine *m);
/* Makes the stack the path of a place. What is on both stays, with `stays` added to its flags; what is not ends unseen;
 * what is new has begun unseen. False: the path was too long, after all the others. */
bool sm_machine_go_to(sm_machine *m, int64_t place, uint32_t stays);
void sm_machine_end_all(sm_machine *m, uint32_t how);
/* One token. Returns where the next is; NULL: the block ends here. */
const uint8_t *sm_machine_take(sm_machine *m, const uint8_t *at, const uint8_t *end, double unit);
/* The root of the stream's thread, as a place. */
int64_t sm_machine_root(const sm_machine *m);
/* The head of a block of its stream. */
const sm_piece *sm_machine_head(const sm_machine *m, size_t block);
/* Where a block begins: `follows` says that all before it was read. False: the block cannot be read. */
bool sm_machine_enter(sm_machine *m, const sm_piece *head, bool follows);
/* A block's tokens. *whole is made false where they end early. */
void sm_machine_read(sm_machine *m, const uint8_t *bytes, size_t size, double unit, bool *whole);
void sm_machine_free(sm_machine *m);

#endif
