/* From a stream's tokens to calls in time. No Python.h.
 *
 * Times are ns since the start of the recording's first process. The order of events is the file's; a time that was not
 * read from the clock is interpolated between the two readings around it, and its bound says how far off it may be. */
#ifndef SM_TRACE_DECODE_H
#define SM_TRACE_DECODE_H

#include "trace/token_machine.h"

typedef enum { SM_DECODE_DONE, SM_DECODE_STOPPED, SM_DECODE_NO_MEMORY } sm_decode_status;

/* Hands the calls of a stream to the sink, in the order of their ends, of those blocks that have events in [from, to).
 */
sm_decode_status sm_decode(const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                           const sm_sink *sink, sm_wrong *wrong);
/* The same from the beginning of a block on, given by its place among those of the stream, to blocks from `to` on. */
sm_decode_status sm_decode_from(const sm_trace *journal, const sm_stream *stream, size_t block, int64_t to,
                                const sm_sink *sink, sm_wrong *wrong);
/* As sm_decode, of as few blocks as have all instants and gaps. */
sm_decode_status sm_decode_said(const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                                const sm_sink *sink, sm_wrong *wrong);

/* The same a block at a time, for readers that are asked for more again and again. */
typedef struct {
    sm_machine machine;
    uint8_t *bytes; /* owned; of the block that is read */
    size_t block;   /* the next one */
    size_t last;    /* to be read */
    int64_t to;
    bool whole; /* all of the last one was read */
} sm_decoder;

/* The stream from its first block with events in [from, to) on; sm_decoder_end whatever comes of it. */
void sm_decoder_begin(sm_decoder *decoder, const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                      const sm_sink *sink, sm_wrong *wrong);
/* When the next block begins, and whether it goes on where the last one ended; -1: there is none. */
int64_t sm_decoder_next(const sm_decoder *decoder, bool *follows);
/* Reads a block, or what is left after the last one. False: there was nothing more, or it failed or was stopped. */
bool sm_decoder_step(sm_decoder *decoder);
sm_decode_status sm_decoder_end(sm_decoder *decoder);

#endif
