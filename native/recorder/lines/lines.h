/* The lines recorder: counts every hit of every line, and samples which line runs.
 *
 * Shape: A *table* has a function's lines, from its first line on (line_tables.h). A thread has an
 * *entry* for each known frame: its address, its code, its table and its current line. The number of an entry
 * is the frame's depth, which the interpreter counts, so no event has to report the end of a frame: its entry is reused
 * when the stack reaches the depth again. Without depths (3.11), or if where= leaves out code, whose frames are not
 * reported, entries are a stack, and ends are reported (`SM_LINES_BY_ENDS`).
 *
 * Time: All of a thread's time is sampled (clock/timing.h). A look finds the running frame's entry by the frame's
 * address. Its line gets the look's time as its own. Each other line on the way to the outermost frame gets it as inner
 * time, once, however often it is on the stack. Functions without entries (hidden and C functions) are part of the
 * calling line.
 *
 * The probes' cost: A LINE event takes time before the recorder receives it, which the sampler finds in the line
 * before. Each hit has one line before it, so the estimate subtracts the cost of a line's hits from its own time. Inner
 * times are corrected at each look.
 *
 * The inline functions below return false if the place need not report again. */
#pragma once

#include "compat/frame.h"
#include "recorder/lines/line_tables.h"

extern const sm_recorder sm_lines_recorder;
bool sm_lines_check(void);

/* Return true if the recording wants the events of this object, which may be no code object. For sources. */
bool sm_lines_wants(PyObject *code, PyObject *globals);

bool sm_lines_line_slow(sm_thread *thread, const void *code, const void *frame, int number);

/* Count a line that begins. frame: sm_tstate_frame(), the address of the running frame. */
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
    SM_OWN_COUNT(to->hits);
    __atomic_store_n(&entry->line, to, __ATOMIC_RELAXED);
    return true;
}

/* Resume a generator or coroutine, also by throw, after the instruction at this offset in bytes. */
bool sm_lines_resume(sm_thread *thread, const void *code, const void *frame, int offset);
/* End or suspend the running frame. By depth, only yields of coroutines need this. */
bool sm_lines_leave(sm_thread *thread, const void *code, const void *frame, sm_leaving how);
