/* From the journal's blocks to the file: the queue, and the worker that empties it.
 *
 * A block that is in the file goes into a second queue, until the worker has summed it up (trace_zoom.h). That takes
 * longer than writing it, so the worker stops in between when it is time to write, and others than the worker do not do
 * it, so that no thread of the program pays for it: only where the worker is far behind, or is not there, whoever
 * flushes helps.
 *
 * On a machine with more to do than processors, the system may let the worker sleep on for a tenth of a second. What
 * the program does meanwhile would be lost if it were killed, so a thread of the program that finds the worker late
 * writes what is there (sm_blocks_help): at most every LATE_NS, and never if that means to wait for a lock.
 *
 * A piece is what of a block goes into the file at a time: all of it, if the queue is behind, or what has come since
 * the last look. Pieces of full blocks are written some at a time, for a write takes about as long as packing a piece.
 * Whoever moves pieces holds `disk` from taking one to its being in the file, so that pieces of a stream come in order;
 * whoever sums up holds `sums`. Compression and writing happen without `lists`, which events take when a block is full.
 * Order: `disk`, `sums`, `lists`. */
#include "recorder/calls/trace_blocks.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/time.h"
#include "base/varint.h"
#include "base/worker.h"
#include "compat/forks.h"
#include "engine/engine.h"
#include "recorder/calls/trace_zoom.h"
#include "trace/compression.h"
#include "trace/piece_heads.h"
#include "trace/tokens.h"

#define PERIOD_NS 40000000           /* between two looks at what is there */
#define LATE_NS 45000000             /* without one: the worker is late */
#define MOST_QUEUED (16 << 20)       /* bytes of full blocks that wait for the disk */
#define FIRST_ROOM 1024              /* of a stream's first block; */
#define LARGEST_ROOM 16384           /* of its later ones */
#define SELDOM_NS 1000000000         /* between two looks at the longest calls */
#define FAR_BEHIND (8 << 20)         /* bytes that are to be summed up */
#define HURRY (1 << 20)              /* so much in the queue is worth waking the worker: often is dear */
#define HEAD (8 * SM_VARINT_MAX + 8) /* of a piece, at most */
#define TOGETHER (192 << 10)         /* bytes of pieces that one write puts into the file; */
#define MANY 16                      /* so many pieces, at most */

static void work(sm_worker *self, uintptr_t run);

typedef struct { /* for pieces that are written together */
    uint8_t bytes[TOGETHER];
    sm_packer packer;
} piece_room;

_Static_assert(TOGETHER >= HEAD + SM_PACKED_MOST, "there is room for any piece");

static struct {
    pthread_mutex_t disk, sums, lists;
    sm_worker worker;
    sm_writer *writer;                 /* borrowed; with `disk`. NULL: blocks go nowhere */
    bool on;                           /* with `lists`: there is a writer */
    sm_stream *streams;                /* with `lists`; owned */
    sm_block *first, **last;           /* the queue; with `lists`; owned */
    sm_block *written, **last_written; /* the second one; with `lists`; owned */
    size_t queued;                     /* bytes in both; with `lists` */
    size_t behind;                     /* of them, in the second one */
    uint32_t count;                    /* of streams so far; the number of the next; with the GIL */
    piece_room *room;                  /* with `disk`; owned */
    sm_piece_heads heads;              /* of pieces in the file that no chunk has told of; with `disk` */
    uint64_t looked;                   /* monotonic ns, atomic: when all that was there had been written */
    sm_blocks_filter filter;           /* these two are set by a start, while the worker is not there */
    bool filtered;
} blocks = {.disk = PTHREAD_MUTEX_INITIALIZER,
            .sums = PTHREAD_MUTEX_INITIALIZER,
            .lists = PTHREAD_MUTEX_INITIALIZER,
            .worker = SM_WORKER(work, 0),
            .last = &blocks.first,
            .last_written = &blocks.written};

/* ---- pieces; with `disk` ---- */

typedef struct { /* to be written */
    sm_block *block;
    uint32_t from, to;
    const uint8_t *bytes; /* from there on */
} piece;

static uint8_t *put_head(uint8_t *to, const piece *of) {
    const sm_block *block = of->block;
    to = sm_varint_put(to, block->stream->thread);
    to = sm_varint_put(to, block->stream->number);
    to = sm_varint_put(to, block->number);
    to = sm_varint_put(to, of->from);
    if (of->from == 0) {
        to = sm_varint_put(to, block->after_gap ? SM_BLOCK_AFTER_GAP : 0);
        to = sm_varint_put(to, block->rank);
        to = sm_varint_put(to, block->ns);
        sm_put_f64(to, block->unit_ns);
        to += 8;
    }
    return to;
}

/* What the pieces since the last such chunk are, so that a reader need not look at each. */
static void write_heads(void) {
    sm_buffer payload = {0};
    if (blocks.heads.count != 0 && sm_piece_heads_pack(&blocks.heads, &payload) == 0 &&
        sm_writer_append(blocks.writer, SM_CHUNK_HEAD, payload.bytes, payload.size) == 0) {
        blocks.heads.count = 0;
        blocks.heads.entries.size = 0;
    }
    sm_buffer_free(&payload);
}

/* Bytes that it takes at most. */
static size_t room_of(const piece *of) {
    return HEAD + SM_PACKED_MOST - SM_BLOCK_MOST + of->to - of->from;
}

/* Pieces for which there is room, with one write: returns how many are in the file or on their way, from the first on.
 */
static size_t write_pieces(const piece *of, size_t count) {
    piece_room *room = blocks.room;
    uint8_t *to = room->bytes, *body[MANY];
    sm_payload payloads[MANY];
    assert(count <= MANY);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *begin = to;
        assert(to + room_of(&of[i]) <= room->bytes + TOGETHER);
        to = sm_piece_pack(&room->packer, of[i].bytes, of[i].to - of[i].from, put_head(to, &of[i]), &body[i]);
        payloads[i] = (sm_payload){begin, (size_t)(to - begin)};
    }
    size_t taken = sm_writer_append_all(blocks.writer, SM_CHUNK_JRNL, payloads, count);
    for (size_t i = 0; i < taken; i++) {
        uint32_t kinds = __atomic_load_n(&of[i].block->kinds, __ATOMIC_RELAXED);
        const sm_payload *is = &payloads[i];
        sm_piece_heads_add(&blocks.heads, is->bytes, (size_t)(body[i] - is->bytes), is->size, kinds);
    }
    if (blocks.heads.count >= SM_PIECE_HEADS_MANY)
        write_heads();
    return taken;
}

/* The paths that they name were met before they were taken, and go first: who is killed leaves none without. count: 1,
 * if the first is empty, of which nothing is written. */
static size_t write_after_paths(const piece *of, size_t count) {
    if (of->from == of->to)
        return count;
    return sm_writer_catch_up(blocks.writer) == 0 ? write_pieces(of, count) : 0;
}

/* The same of what the filter leaves of it. whole: no more of the block will come. */
static bool write_sieved(const piece *next, bool whole) {
    sm_block *block = next->block;
    sm_stream *stream = block->stream;
    sm_trace_filter *sieve = stream->sieve;
    if (stream->sieved != block->number + 1) {
        double least = (double)blocks.filter.least_ns / block->unit_ns;
        sm_trace_filter_begin(sieve, &(sm_trace_filter_limits){(uint64_t)least, blocks.filter.depth}, block->depth);
        stream->sieved = block->number + 1;
        block->after_gap = block->after_gap || stream->lost;
        stream->lost = false;
    }
    uint64_t now = sm_clock_read(&sm_engine.clock) >> blocks.filter.shift;
    if (!stream->lost)
        sm_trace_filter_take(sieve, block->bytes, next->to, now > block->mark ? now - block->mark : 0, whole);
    stream->lost = stream->lost || sieve->no_memory;
    sieve->no_memory = false;
    size_t ready = stream->lost ? sieve->sent : sm_trace_filter_ready(sieve);
    assert(ready <= SM_BLOCK_MOST && ready >= sieve->sent);
    piece left = {block, (uint32_t)sieve->sent, (uint32_t)ready, sieve->out.bytes + sieve->sent};
    if (write_after_paths(&left, 1) == 0)
        return false;
    sieve->sent = ready;
    return true;
}

static piece rest_of(sm_block *block, uint32_t to) {
    return (piece){block, block->taken, to, block->bytes + block->taken};
}

/* With `lists`. The first of the queue, as many as can be written together: where something is left out, or nothing of
 * the first is left to write, one. */
static size_t next_queued(piece next[MANY]) {
    size_t count = 0, most = blocks.filtered ? 1 : MANY, room = TOGETHER;
    for (sm_block *block = blocks.first; block != NULL && count < most; block = block->next) {
        next[count] = rest_of(block, block->sealed);
        bool empty = next[count].from == next[count].to;
        if (count > 0 && (empty || room_of(&next[count]) > room))
            break;
        most = empty ? 1 : most;
        room -= room_of(&next[count++]);
    }
    return count;
}

/* Whether something of its open block is held back: it may be sure by now. */
static bool waits(const sm_stream *stream) {
    return stream->sieved == stream->open->number + 1 && stream->sieve->out.size > stream->sieve->sent;
}

/* With `lists`. What there is of the open blocks, which are not touched by anybody else while `disk` is held: a thread
 * that seals one only puts it into the queue. Streams are looked through from where the last one was. */
static bool next_open(piece *next, sm_stream **from) {
    for (sm_stream *stream = *from; stream != NULL; stream = stream->next) {
        if (stream->open == NULL || stream->queued != 0 || stream->at == NULL)
            continue;
        const uint8_t *at = __atomic_load_n(stream->at, __ATOMIC_ACQUIRE);
        *next = rest_of(stream->open, (uint32_t)(at - stream->open->bytes));
        bool more = next->to > next->from || (stream->sieve != NULL && next->to == next->from && waits(stream));
        if (at >= next->block->bytes && next->to <= next->block->room && more) {
            *from = stream->next;
            return true;
        }
    }
    *from = NULL;
    return false;
}

/* With `lists`. The first of the queue is in the file. */
static void pass_on(sm_block *block) {
    assert(block == blocks.first);
    blocks.first = block->next;
    if (blocks.first == NULL)
        blocks.last = &blocks.first;
    block->next = NULL;
    *blocks.last_written = block;
    blocks.last_written = &block->next;
    blocks.behind += block->sealed;
    block->stream->queued--;
    block->stream->behind++;
}

static void free_stream(sm_stream *stream) {
    if (stream->sieve != NULL)
        sm_trace_filter_free(stream->sieve);
    sm_free(stream->sieve);
    sm_free(stream);
}

/* With `lists`. The next block to sum up, taken off its list; NULL: there is none. */
static sm_block *take_written(void) {
    sm_block *block = blocks.written;
    if (block == NULL)
        return NULL;
    blocks.written = block->next;
    if (blocks.written == NULL)
        blocks.last_written = &blocks.written;
    blocks.behind -= block->sealed;
    return block;
}

/* Sums up what is in the file, down to so many bytes, block by block: nobody waits for `sums` for longer. until:
 * monotonic ns. */
static void sum_up(size_t down_to, uint64_t until) {
    for (bool more = true; more && (until == UINT64_MAX || sm_monotonic_ns() < until);) {
        pthread_mutex_lock(&blocks.sums);
        pthread_mutex_lock(&blocks.lists);
        sm_block *block = blocks.behind > down_to ? take_written() : NULL;
        pthread_mutex_unlock(&blocks.lists);
        more = block != NULL;
        if (more && blocks.writer != NULL && !blocks.filtered) /* else its bytes are not those of the file */
            sm_levels_block(blocks.writer, block);
        pthread_mutex_lock(&blocks.lists);
        if (more) {
            blocks.queued -= block->sealed;
            block->stream->behind--;
            sm_free(block);
        }
        pthread_mutex_unlock(&blocks.lists);
        pthread_mutex_unlock(&blocks.sums);
    }
}

/* With `disk`. Streams whose threads are gone, and whose blocks are all seen to. While somebody sums up, they stay. */
static void forget_ended(void) {
    sm_stream *ended = NULL;
    if (pthread_mutex_trylock(&blocks.sums) != 0)
        return;
    pthread_mutex_lock(&blocks.lists);
    for (sm_stream **at = &blocks.streams; *at != NULL;) {
        sm_stream *stream = *at;
        if (stream->at == NULL && stream->queued + stream->behind == 0) {
            *at = stream->next;
            stream->next = ended;
            ended = stream;
        } else {
            at = &stream->next;
        }
    }
    pthread_mutex_unlock(&blocks.lists);
    for (sm_stream *next; ended != NULL; ended = next) {
        next = ended->next;
        sm_levels_end(blocks.writer, ended);
        free_stream(ended);
    }
    pthread_mutex_unlock(&blocks.sums);
}

/* With `disk`. Writes what is there: full blocks, and what there is of others. False: the file takes no more now. */
static bool write_rest(void) {
    uint64_t began = sm_monotonic_ns();
    bool written = blocks.writer != NULL;
    sm_stream *from = NULL;
    for (bool looked = false; written;) {
        piece next[MANY];
        pthread_mutex_lock(&blocks.lists);
        size_t count = next_queued(next);
        bool whole = count != 0;
        if (!whole) {
            from = looked ? from : blocks.streams;
            looked = true;
            count = next_open(next, &from);
        }
        pthread_mutex_unlock(&blocks.lists);
        if (count == 0) {
            forget_ended();
            break;
        }
        size_t taken = blocks.filtered ? write_sieved(next, whole) : write_after_paths(next, count);
        written = taken == count;
        pthread_mutex_lock(&blocks.lists);
        for (size_t i = 0; i < taken; i++) {
            next[i].block->taken = next[i].to;
            if (whole)
                pass_on(next[i].block);
        }
        pthread_mutex_unlock(&blocks.lists);
    }
    __atomic_store_n(&blocks.looked, began, __ATOMIC_RELAXED);
    return written;
}

static void write_all(void) {
    pthread_mutex_lock(&blocks.disk);
    (void)write_rest();
    pthread_mutex_unlock(&blocks.disk);
}

void sm_blocks_help(void) {
    uint64_t looked = __atomic_load_n(&blocks.looked, __ATOMIC_RELAXED), now = sm_monotonic_ns();
    if (now < looked || now - looked < LATE_NS || pthread_mutex_trylock(&blocks.disk) != 0)
        return;
    (void)write_rest();
    pthread_mutex_unlock(&blocks.disk);
}

/* The longest calls and the heads of pieces so far, for who is killed. */
static void write_notes(void) {
    pthread_mutex_lock(&blocks.disk);
    if (blocks.writer != NULL)
        write_heads();
    pthread_mutex_unlock(&blocks.disk);
    pthread_mutex_lock(&blocks.sums);
    if (blocks.writer != NULL)
        sm_levels_write(blocks.writer);
    pthread_mutex_unlock(&blocks.sums);
}

static void work(sm_worker *self, uintptr_t run) {
    uint64_t noted = sm_monotonic_ns(), next = noted + PERIOD_NS;
    while (sm_worker_goes_on(self, run)) {
        sm_worker_sleep(self, next);
        next = sm_monotonic_ns() + PERIOD_NS;
        if (sm_worker_goes_on(self, run))
            write_all();
        if (sm_worker_goes_on(self, run))
            sum_up(0, next);
        if (sm_worker_goes_on(self, run) && sm_monotonic_ns() - noted > SELDOM_NS) {
            write_notes();
            noted = sm_monotonic_ns();
        }
    }
}

/* ---- for the threads; with the GIL ---- */

sm_stream *sm_blocks_stream(uint32_t thread, uint8_t *const *at) {
    sm_stream *stream = sm_calloc(1, sizeof *stream);
    if (stream != NULL && blocks.filtered && (stream->sieve = sm_calloc(1, sizeof *stream->sieve)) == NULL) {
        sm_free(stream);
        stream = NULL;
    }
    if (stream == NULL)
        return NULL;
    stream->at = at;
    stream->thread = thread;
    stream->number = blocks.count++;
    pthread_mutex_lock(&blocks.lists);
    stream->next = blocks.streams;
    blocks.streams = stream;
    pthread_mutex_unlock(&blocks.lists);
    if (blocks.writer != NULL)
        (void)sm_worker_want(&blocks.worker);
    return stream;
}

/* A thread that lives for an instant has a small block, one that goes on larger and larger ones. */
sm_block *sm_blocks_new(sm_stream *stream, size_t least) {
    size_t room = FIRST_ROOM << (stream->blocks < 8 ? stream->blocks : 8);
    room = room < LARGEST_ROOM ? room : LARGEST_ROOM;
    room = room < least ? least : room;
    assert(stream->open == NULL && room <= SM_BLOCK_MOST);
    pthread_mutex_lock(&blocks.lists);
    bool too_much = blocks.queued + room > MOST_QUEUED;
    pthread_mutex_unlock(&blocks.lists);
    sm_block *block = too_much ? NULL : sm_malloc(sizeof *block + room);
    if (block != NULL)
        *block = (sm_block){.stream = stream, .room = (uint32_t)room, .number = stream->blocks++};
    return block;
}

void sm_blocks_open(sm_stream *stream, sm_block *block) {
    assert(*stream->at == block->bytes);
    pthread_mutex_lock(&blocks.lists);
    stream->open = block;
    pthread_mutex_unlock(&blocks.lists);
}

void sm_blocks_seal(sm_stream *stream, const uint8_t *end, sm_block_nodes nodes) {
    pthread_mutex_lock(&blocks.lists);
    sm_block *block = stream->open;
    stream->open = NULL;
    block->sealed = (uint32_t)(end - block->bytes);
    block->nodes = nodes;
    assert(block->sealed <= block->room && block->taken <= block->sealed);
    bool hurry = false;
    if (blocks.on) {
        *blocks.last = block;
        blocks.last = &block->next;
        stream->queued++;
        hurry = blocks.queued < HURRY && blocks.queued + block->sealed >= HURRY;
        blocks.queued += block->sealed;
    } else {
        sm_free(block);
    }
    pthread_mutex_unlock(&blocks.lists);
    if (hurry)
        sm_worker_wake(&blocks.worker);
    if (blocks.on)
        (void)sm_worker_want(&blocks.worker); /* after a fork it has to begin again */
}

void sm_blocks_drop(sm_stream *stream) {
    pthread_mutex_lock(&blocks.lists);
    assert(stream->open != NULL && stream->open->taken == 0);
    sm_free(stream->open);
    stream->open = NULL;
    pthread_mutex_unlock(&blocks.lists);
}

void sm_blocks_end(sm_stream *stream) {
    pthread_mutex_lock(&blocks.lists);
    assert(stream->open == NULL);
    stream->at = NULL;
    pthread_mutex_unlock(&blocks.lists);
}

/* ---- life ---- */

static void forget(void) { /* with `disk`, or nobody else there */
    while (blocks.first != NULL)
        pass_on(blocks.first);
    for (sm_block *block; (block = take_written()) != NULL;)
        sm_free(block);
    blocks.queued = 0;
    for (sm_stream *stream = blocks.streams, *next; stream != NULL; stream = next) {
        next = stream->next;
        sm_free(stream->open);
        sm_levels_forget(stream);
        free_stream(stream);
    }
    sm_levels_forget_all();
    sm_piece_heads_clear(&blocks.heads);
    blocks.streams = NULL;
    blocks.writer = NULL;
    blocks.on = false;
}

void sm_blocks_start(sm_writer *writer, const sm_blocks_filter *filter) {
    sm_worker_stop(&blocks.worker);
    pthread_mutex_lock(&blocks.disk);
    pthread_mutex_lock(&blocks.sums);
    pthread_mutex_lock(&blocks.lists);
    forget();
    blocks.looked = sm_monotonic_ns();
    blocks.count = 0;
    blocks.filtered = filter != NULL;
    if (filter != NULL)
        blocks.filter = *filter;
    if (blocks.room == NULL && writer != NULL)
        blocks.room = sm_malloc(sizeof *blocks.room);
    blocks.writer = blocks.room != NULL ? writer : NULL;
    blocks.on = blocks.writer != NULL;
    pthread_mutex_unlock(&blocks.lists);
    pthread_mutex_unlock(&blocks.sums);
    pthread_mutex_unlock(&blocks.disk);
}

void sm_blocks_flush(void) {
    write_all();
    sum_up(FAR_BEHIND, UINT64_MAX);
}

void sm_blocks_stop(void) {
    sm_worker_stop(&blocks.worker);
    write_all();
    sum_up(0, UINT64_MAX);
    write_all(); /* now streams can end */
    write_notes();
    sm_blocks_start(NULL, NULL);
}

static void before_fork(void) {
    sm_worker_before_fork(&blocks.worker, 0);
    pthread_mutex_lock(&blocks.disk);
    pthread_mutex_lock(&blocks.sums);
    pthread_mutex_lock(&blocks.lists);
}

static bool parent_forked(void) {
    pthread_mutex_unlock(&blocks.lists);
    pthread_mutex_unlock(&blocks.sums);
    pthread_mutex_unlock(&blocks.disk);
    sm_worker_after_fork(&blocks.worker);
    return blocks.on;
}

/* What is not in the parent's file yet is the parent's to write. The thread goes on in its block until the recording in
 * the child begins. */
static void child_forked(void) {
    blocks.writer = NULL;
    blocks.on = false;
    pthread_mutex_unlock(&blocks.lists);
    pthread_mutex_unlock(&blocks.sums);
    pthread_mutex_unlock(&blocks.disk);
    sm_worker_forked(&blocks.worker);
}

static void fork_over(void) {
    if (blocks.on)
        (void)sm_worker_want(&blocks.worker);
}

bool sm_blocks_init(void) {
    static const sm_fork_calls calls = {before_fork, parent_forked, child_forked, fork_over};
    return sm_worker_init(&blocks.worker) && sm_forks_register(SM_FORK_JOURNAL, &calls);
}
