/* Reading only that part of a stream in which calls begin, or end, at some time. No Python.h.
 *
 * What comes of it is what reading all would give, to the nanosecond: seek.c says why. */
#ifndef SM_TRACE_SEEK_H
#define SM_TRACE_SEEK_H

#include "trace/decode.h"

typedef struct {
    int64_t start_least, start_most, end_least, end_most; /* ns: of the calls that are wanted */
    bool starts;                                          /* whether it matters when calls began that end in time */
} sm_seek;

/* Begins where the first wanted call may begin or end. False: that is the stream's own beginning. */
bool sm_seek_in(sm_decoder *decoder, const sm_trace *journal, const sm_stream *stream, const sm_seek *leap,
                sm_sink *sink, sm_wrong *wrong);
/* After the first block: is all known of what follows that reading from the beginning would know? */
bool sm_seek_is_sound(const sm_decoder *decoder, const sm_seek *leap);
/* Before any block: is no wanted call left, neither open nor to come? Then the decoder reads no more, and calls that it
 * still gives with SM_CALL_AFTER are none. */
bool sm_seek_out(sm_decoder *decoder, const sm_seek *leap);

#endif
