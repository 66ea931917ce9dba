/* The positions of probes (source/py311/probes/probes.h) in a 3.11 code object, and what each reports. */
#pragma once

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

#define SM_NO_LINE INT32_MIN

typedef struct { /* from SM_NO_LINE if unused; to -(first line) for an exit */
    int32_t from, to;
} sm_probe_step;

typedef struct {
    uint32_t unit; /* first unit of the instruction, of 2 bytes */
    /* Reported by a hit: */
    int32_t line; /* a line, or SM_NO_LINE */
    sm_probe_step steps[2];
    /* Reported by the way of a conditional jump, [0] falling and [1] jumping: */
    sm_probe_step ways[2];
    uint32_t on, jump; /* units of the two destinations */
    uint8_t opcode;    /* opcode of the jump, unspecialised */
    bool backward;
    /* While a probe is here: */
    bool armed;
    uint8_t covered;      /* the opcode that it replaces */
    uint32_t before;      /* first unit of the previous instruction, or its own */
    uint32_t before_that; /* first unit of the instruction before that */
    uint32_t next;        /* point with the same line, in a ring */
} sm_probe_point;

typedef struct {
    sm_probe_point *points; /* by unit */
    uint32_t count, units;
    int32_t entry; /* first line that a call reaches, or SM_NO_LINE */
    bool odd;      /* a line would need a probe where none can be */
} sm_probe_points;

/* Find the points, with those for steps between lines if `steps` is true. Return false if out of memory. Sets no
 * exception. */
bool sm_probe_points_find(sm_probe_points *found, PyCodeObject *code, bool steps);
void sm_probe_points_clear(sm_probe_points *points);
sm_probe_point *sm_probe_point_at(const sm_probe_points *points, uint32_t unit); /* returns the point, or NULL */

static inline bool sm_probe_is_way(const sm_probe_point *point) {
    return point->ways[0].from != SM_NO_LINE || point->ways[1].from != SM_NO_LINE;
}

/* Return the last line that was reported when an exception leaves a frame at this unit. */
int sm_probe_exit_line(PyCodeObject *code, uint32_t unit);

/* Return the line of every unit, or SM_NO_LINE, in memory to be freed with sm_free(); or NULL if out of memory. */
int32_t *sm_probe_lines(PyCodeObject *code, uint32_t units);

/* Make the interpreter's table of lines for code with a line table of the wrong length, which would make tracing
 * write out of bounds or read unset memory. Return false if out of memory. */
bool sm_probe_mend_lines(PyCodeObject *code);

#endif
