/* Read only the part of a stream in which wanted calls begin or end, with the same result as all of it. No Python.h. */
#pragma once

#include "trace/decode.h"

typedef struct {
    int64_t start_least, start_most, end_least, end_most; /* ns; of the wanted calls */
    bool starts; /* calls that are wanted for their ends need their starts, too */
} sm_seek;

/* Begin where the first wanted call may begin or end. Return false if that is the stream's beginning. */
bool sm_seek_in(sm_decoder *decoder, const sm_trace *journal, const sm_stream *stream, const sm_seek *leap,
                sm_sink *sink, sm_wrong *wrong);
/* Return true, after the first block, if all is known that reading from the beginning would give. */
bool sm_seek_is_sound(const sm_decoder *decoder, const sm_seek *leap);
/* Return true, before any block, if no wanted call is open or to come. Then the decoder reads no more, and calls that
 * it still reports with SM_CALL_AFTER are not wanted. */
bool sm_seek_out(sm_decoder *decoder, const sm_seek *leap);
