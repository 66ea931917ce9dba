/* Move the journal's blocks to the file: the queue, and the worker that empties it.
 *
 * A written block goes into a second queue, until the worker has summed it up (trace_zoom.h). That takes longer than
 * writing, so the worker interrupts it when it is time to write. Other threads do not sum up, except that a flush helps
 * if the worker is far behind or missing.
 *
 * With more runnable threads than processors, the worker may oversleep by a tenth of a second, and a kill would lose
 * what the program did meanwhile. So a thread that finds the worker late writes what is there (sm_blocks_help): at most
 * every LATE_NS, and without waiting for a lock.
 *
 * A piece is the part of a block that goes into the file at once. Pieces of full blocks are written together, since a
 * write takes about as long as packing a piece. `disk` is held from taking a piece until it is in the file, so that
 * pieces of a stream come in order. Compression and writing happen without `lists`, which events take when a block is
 * full. Order: `disk`, `sums`, `lists`. */
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

#define PERIOD_NS 40000000     /* time between two rounds of the worker */
#define LATE_NS 45000000       /* time after which the worker is late */
#define MOST_QUEUED (16 << 20) /* bytes in both queues */
#define FIRST_ROOM 1024        /* bytes of a stream's first block */
#define LARGEST_ROOM 16384     /* bytes of its later blocks */
#define SELDOM_NS 1000000000   /* time between two writes of the longest calls */
#define FAR_BEHIND (8 << 20)   /* bytes to sum up with which a flush helps */
#define HURRY (1 << 20)        /* bytes in the queue that are worth waking the worker, which is expensive */
#define HEAD (8 * SM_VARINT_MAX + 8)
#define TOGETHER (192 << 10)
#define MANY 16

static void work(sm_worker *self, uintptr_t run);

typedef struct { /* scratch memory of one write */
    uint8_t bytes[TOGETHER];
    sm_packer packer;
} piece_room;

_Static_assert(TOGETHER >= HEAD + SM_PACKED_MOST, "there is room for any piece");

static struct {
    pthread_mutex_t disk, sums, lists;
    sm_worker worker;
    sm_writer *writer;                 /* borrowed; NULL if blocks go nowhere; changed with all three locks */
    bool on;                           /* there is a writer; guarded by `lists` */
    sm_stream *streams;                /* owned; guarded by `lists` */
    sm_block *first, **last;           /* the queue; owned; guarded by `lists` */
    sm_block *written, **last_written; /* the second queue; owned; guarded by `lists` */
    size_t queued;                     /* bytes in both queues; guarded by `lists` */
    size_t behind;                     /* the part of these in the second queue */
    uint32_t count;                    /* number of the next stream; guarded by the engine's lock */
    piece_room *room;                  /* owned; guarded by `disk` */
    sm_piece_heads heads;              /* heads of written pieces, not in a HEAD chunk yet; guarded by `disk` */
    uint64_t looked;                   /* monotonic ns of the last round; atomic */
    sm_blocks_filter filter;           /* changed with all three locks */
    bool filtered;
} blocks = {.disk = PTHREAD_MUTEX_INITIALIZER,
            .sums = PTHREAD_MUTEX_INITIALIZER,
            .lists = PTHREAD_MUTEX_INITIALIZER,
            .worker = SM_WORKER(work, 0),
            .last = &blocks.first,
            .last_written = &blocks.written};

/* The functions up to work() are called with `disk`, except as noted. */

typedef struct {
    sm_block *block;
    uint32_t from, to;
    const uint8_t *bytes;
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

/* Write a chunk with the heads of the pieces since the last one. */
static void write_heads(void) {
    sm_buffer payload = {0};
    if (blocks.heads.count != 0 && sm_piece_heads_pack(&blocks.heads, &payload) == 0 &&
        sm_writer_append(blocks.writer, SM_CHUNK_HEAD, payload.bytes, payload.size) == 0) {
        blocks.heads.count = 0;
        blocks.heads.entries.size = 0;
    }
    sm_buffer_free(&payload);
}

static size_t room_of(const piece *of) {
    return HEAD + SM_PACKED_MOST - SM_BLOCK_MOST + of->to - of->from;
}

/* Write pieces with one write. Return how many of them, from the first on, are in the file or on their way. */
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

/* Write the paths that the pieces name before the pieces, in case the process is killed. count: 1 for an empty one. */
static size_t write_after_paths(const piece *of, size_t count) {
    if (of->from == of->to)
        return count;
    return sm_writer_catch_up(blocks.writer) == 0 ? write_pieces(of, count) : 0;
}

/* Write the part of a piece that the filter keeps. whole: the block is complete. */
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

/* Find the first pieces of the queue for one write, with `lists`. Take one if it is empty or there is a filter. */
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

/* Return true if the filter holds back a part of the open block. */
static bool waits(const sm_stream *stream) {
    return stream->sieved == stream->open->number + 1 && stream->sieve->out.size > stream->sieve->sent;
}

/* Find an open block with new bytes, from the stream *from on, with `lists`. Nobody else touches it while `disk` is
 * held: a thread that seals it only queues it. */
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

/* Move the first block to the second queue, with `lists`. */
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

/* Take the next block to sum up, or NULL, with `lists`. */
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

/* Sum up what is in the file, down to so many bytes or until a monotonic time. Takes `sums` for one block at a time. */
static void sum_up(size_t down_to, uint64_t until) {
    for (bool more = true; more && (until == UINT64_MAX || sm_monotonic_ns() < until);) {
        pthread_mutex_lock(&blocks.sums);
        pthread_mutex_lock(&blocks.lists);
        sm_block *block = blocks.behind > down_to ? take_written() : NULL;
        pthread_mutex_unlock(&blocks.lists);
        more = block != NULL;
        if (more && blocks.writer != NULL && !blocks.filtered) /* a filter changes its bytes */
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

/* Free the streams whose threads and blocks are gone, unless another thread sums up. */
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
        sm_levels_end(ended);
        free_stream(ended);
    }
    pthread_mutex_unlock(&blocks.sums);
}

/* Write full blocks and the present parts of open ones. Return false if the file accepts no more now. */
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

/* Write the longest calls and the heads of pieces, in case the program is killed. */
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

/* The functions below are called by threads of the program, for their own streams without a lock of the core. */

sm_stream *sm_blocks_stream(uint32_t thread, uint8_t *const *at) {
    sm_stream *stream = sm_calloc(1, sizeof *stream);
    if (stream != NULL && blocks.filtered && (stream->sieve = sm_calloc(1, sizeof *stream->sieve)) == NULL) {
        SM_CLEAR(stream);
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

/* Return a new block. A stream's first one is small, since its thread may be short, and later ones are larger. */
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
        (void)sm_worker_want(&blocks.worker); /* after a fork it has to start again */
}

void sm_blocks_drop(sm_stream *stream) {
    pthread_mutex_lock(&blocks.lists);
    assert(stream->open != NULL && stream->open->taken == 0);
    SM_CLEAR(stream->open);
    pthread_mutex_unlock(&blocks.lists);
}

void sm_blocks_end(sm_stream *stream) {
    pthread_mutex_lock(&blocks.lists);
    assert(stream->open == NULL);
    stream->at = NULL;
    pthread_mutex_unlock(&blocks.lists);
}

static void forget(void) { /* called with `disk`, or while no other thread runs */
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
    write_all();
    write_notes();
    sm_blocks_start(NULL, NULL);
}

static void before_fork(void) {
    pthread_mutex_lock(&blocks.disk);
    pthread_mutex_lock(&blocks.sums);
    pthread_mutex_lock(&blocks.lists);
}

static void parent_forked(void) {
    pthread_mutex_unlock(&blocks.lists);
    pthread_mutex_unlock(&blocks.sums);
    pthread_mutex_unlock(&blocks.disk);
}

/* Leave unwritten blocks to the parent. The thread continues in its block until the child's recording begins. */
static void child_forked(void) {
    blocks.writer = NULL;
    blocks.on = false;
    pthread_mutex_unlock(&blocks.lists);
    pthread_mutex_unlock(&blocks.sums);
    pthread_mutex_unlock(&blocks.disk);
}

static bool is_on(void) {
    return blocks.on;
}

bool sm_blocks_init(void) {
    static const sm_fork_calls calls = {&blocks.worker, before_fork, parent_forked, child_forked, is_on, NULL};
    return sm_worker_init(&blocks.worker) && sm_forks_register(SM_FORK_JOURNAL, &calls);
}
