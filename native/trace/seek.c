/* Find where reading may begin and end if only calls of certain times are wanted.
 *
 * An event's time depends only on the marks around it. So a reader that begins in the middle computes the right times
 * from the first mark on. It starts one block before the first that matters. If that block has no mark, it starts at
 * the stream's beginning (sm_seek_is_sound).
 *
 * Calls that are open where reading begins started earlier, and are not wanted if wanted calls start later. If wanted
 * calls only end later, their starts are searched for (call_starts.c). A start before a gap is not found, so reading
 * then starts at the stream's beginning, too.
 *
 * At the other end, reading continues while a wanted call is on the stack. Events that wait for their time get it a
 * block later, since blocks begin with a clock reading, unless that is the reading of the last mark or events are
 * missing. */
#include "trace/seek.h"

static bool begins_in(const sm_seek *leap, int64_t start) {
    return start >= leap->start_least && start <= leap->start_most;
}

bool sm_seek_in(sm_decoder *d, const sm_trace *journal, const sm_stream *stream, const sm_seek *leap, sm_sink *sink,
                sm_wrong *wrong) {
    int64_t from = leap->start_least > 0 ? leap->start_least : leap->end_least;
    sink->look_back = leap->start_least > 0 || !leap->starts ? 0 : SIZE_MAX;
    sm_decoder_begin(d, journal, stream, from > 0 ? from - 1 : 0, INT64_MAX, sink, wrong);
    return d->block > 0;
}

bool sm_seek_is_sound(const sm_decoder *d, const sm_seek *leap) {
    const sm_machine *m = &d->machine;
    if (!m->begun || m->mark <= m->begins)
        return false;
    if (leap->start_least > 0 || !leap->starts)
        return true;
    for (size_t i = 0; i < m->depth; i++)
        if (m->pool[m->stack[i]].call.flags & SM_CALL_BEFORE)
            return false;
    for (size_t i = 0; i < m->events; i++) {
        const sm_waiting *e = &m->event[i];
        if (e->what == SM_HAPPENED_END && m->pool[e->open].call.flags & SM_CALL_BEFORE)
            return false;
    }
    return true;
}

bool sm_seek_out(sm_decoder *d, const sm_seek *leap) {
    const sm_machine *m = &d->machine;
    bool follows;
    int64_t time = sm_decoder_next(d, &follows);
    if (time < 0 || !m->begun || (time <= leap->end_most && time <= leap->start_most))
        return false;
    if (m->events && !(follows && time > m->mark))
        return false;
    if (time <= leap->end_most) {
        for (size_t i = 0; i < m->events && m->mark <= leap->start_most; i++)
            if (m->event[i].what == SM_HAPPENED_START)
                return false;
        for (size_t i = 0; i < m->depth; i++)
            if (begins_in(leap, m->pool[m->stack[i]].call.start))
                return false;
    }
    d->to = time;
    return true;
}
