/* Decode a stream's tokens into calls with times. No Python.h.
 *
 * Times are ns since the start of the recording's first process. A time that was not read from the clock is
 * interpolated between the readings around it; its bound is the largest possible error. */
#pragma once

#include "trace/token_machine.h"

typedef enum { SM_DECODE_DONE, SM_DECODE_STOPPED, SM_DECODE_NO_MEMORY } sm_decode_status;

/* Pass the calls of a stream to the sink, in the order of their ends, from blocks with events in [from, to). */
sm_decode_status sm_decode(const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                           const sm_sink *sink, sm_wrong *wrong);
/* Pass on the calls from a block on, given by its index in the stream, up to the first block at or after `to`. */
sm_decode_status sm_decode_from(const sm_trace *journal, const sm_stream *stream, size_t block, int64_t to,
                                const sm_sink *sink, sm_wrong *wrong);
/* Decode only the blocks that are needed for all instants and gaps. */
sm_decode_status sm_decode_instants(const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                                    const sm_sink *sink, sm_wrong *wrong);

/* A decoder that reads one block per step. */
typedef struct {
    sm_machine machine;
    uint8_t *bytes; /* owned; of the current block */
    size_t block;
    size_t last;
    int64_t to;
    bool whole; /* the previous block was read completely */
} sm_decoder;

/* Begin at the first block with events in [from, to). The caller always ends it with sm_decoder_end. */
void sm_decoder_begin(sm_decoder *decoder, const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                      const sm_sink *sink, sm_wrong *wrong);
/* Return the next block's time, or -1. Set *follows if it continues the previous block. */
int64_t sm_decoder_next(const sm_decoder *decoder, bool *follows);
/* Read a block and return true. Return false after the last one, or if it failed or was stopped. */
bool sm_decoder_step(sm_decoder *decoder);
sm_decode_status sm_decoder_end(sm_decoder *decoder);
