/* The lines recorder: every hit of every line is counted, and the sampler says which line runs.
 *
 * Shape. A *table* belongs to a function: its lines, by number less the first one's, so that a line is one load away.
 * Lines are shared by all threads (the GIL makes their counters exact). A thread has an *entry* for each frame that it
 * knows: the frame's address, its code, its table and the line it is at. Entries stand at the frame's depth, which the
 * interpreter counts, so that no event says when a frame ends: its entry is overwritten when the stack gets there
 * again. Where depths are not at hand (3.11), and where where= leaves code out, of whose frames nothing is reported,
 * entries are a stack, and ends are asked for (`SM_LINES_BY_ENDS`).
 *
 * Time. All of a thread's time is sampled (clock/timing.h). A look finds the running frame's entry by the address of
 * the frame. Its line has the look's time as its own, and each other line on the way to the outermost frame has it as
 * inner time, once, however often it is on the stack. An entry knows which entry is that of its caller (`below`). What
 * has no entry (hidden functions, those that where= does not want, C functions) is part of the line that called it.
 *
 * The probes' cost. A LINE event takes time before the recorder hears of it, which the sampler finds in the line
 * before. Since each hit of a line has one line before it, the cost of a line's hits is taken off its own time when it
 * is estimated. From inner times it is taken off at each look, by the part that it has in the running line so far.
 *
 * Sources call the inline functions below. Each answers whether the place is wanted: false, never report it again. */
#ifndef SM_RECORDER_LINES_LINES_H
#define SM_RECORDER_LINES_LINES_H

#include "compat/frame.h"
#include "recorder/lines/line_tables.h"

extern const sm_recorder sm_lines_recorder;
bool sm_lines_check(void); /* consistency, for debug builds and tests */

/* For a source: does the recording want this code's events at all? (It may be no code object.) */
bool sm_lines_wants(PyObject *code, PyObject *globals);

/* The slow paths. */
bool sm_lines_line_slow(sm_thread *thread, const void *code, const void *frame, int number);

/* A line begins. code: the code object; frame: sm_tstate_frame(), the address of the interpreter's frame that runs. */
SM_INLINE bool sm_lines_line(sm_thread *thread, const void *code, const void *frame, int number, sm_lines_way way) {
    sm_lines_thread *state = sm_lines_of(thread);
    uint32_t at = way == SM_LINES_BY_DEPTH ? (uint32_t)sm_tstate_depth(thread->tstate) : state->top;
    if (SM_UNLIKELY(at >= state->open))
        return sm_lines_line_slow(thread, code, frame, number);
    sm_line_entry *entry = &state->entries[at];
    if (SM_UNLIKELY(entry->frame != frame || entry->code != code) ||
        (way == SM_LINES_BY_DEPTH && SM_UNLIKELY(entry->previous != sm_frame_below(frame))))
        return sm_lines_line_slow(thread, code, frame, number);
    const sm_line_table *table = entry->table;
    uint32_t index = (uint32_t)number - (uint32_t)table->first;
    sm_line *to = SM_LIKELY(index < table->count) ? table->lines[index] : NULL;
    if (SM_UNLIKELY(to == NULL))
        return sm_lines_line_slow(thread, code, frame, number);
    to->hits++;
    entry->line = to;
    return true;
}

/* A generator or coroutine goes on (also by throw), behind the instruction at this offset (bytes). */
bool sm_lines_resume(sm_thread *thread, const void *code, const void *frame, int offset);
/* A frame is left; it is still the one that runs. By depth, only yields of coroutines are wanted. */
bool sm_lines_leave(sm_thread *thread, const void *code, const void *frame, sm_leaving how);

#endif
