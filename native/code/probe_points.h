/* Where a probe has to stand in a 3.11 code object, and what it tells when it is hit: see source/py311/probes/probes.h
 * for what a probe is. Made once for a code object; refers to it in nothing. */
#ifndef SM_CODE_PROBE_POINTS_H
#define SM_CODE_PROBE_POINTS_H

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

#define SM_NO_LINE INT32_MIN

typedef struct {      /* a step between lines; to: -first line of the code: out of it */
    int32_t from, to; /* from SM_NO_LINE: none */
} sm_probe_step;

typedef struct {
    uint32_t unit; /* of code, 2 bytes each: the instruction's first */
    /* What is told by being here: */
    int32_t line; /* SM_NO_LINE: none */
    sm_probe_step steps[2];
    /* And by the way that a conditional jump takes from here, [0] on, [1] jumping: */
    sm_probe_step ways[2];
    uint32_t on, jump; /* units where they lead */
    uint8_t opcode;    /* the jump's, plain */
    bool backward;
    /* While a probe is here: */
    bool armed;
    uint8_t covered;      /* the opcode that it stands for */
    uint32_t before;      /* first unit of the instruction in front of it; its own: there is none */
    uint32_t before_that; /* of the one in front of that */
    uint32_t next;        /* point with the same line, in a ring */
} sm_probe_point;

typedef struct {
    sm_probe_point *points; /* by unit */
    uint32_t count, units;
    int32_t entry; /* the first line that a call reaches; SM_NO_LINE: none */
    bool odd;      /* a probe would have to stand where none can */
} sm_probe_points;

/* false: out of memory. steps: those between lines, too. May leave the code's bytes cached in it, never an exception.
 */
bool sm_probe_points_find(sm_probe_points *found, PyCodeObject *code, bool steps);
void sm_probe_points_clear(sm_probe_points *points);
sm_probe_point *sm_probe_point_at(const sm_probe_points *points, uint32_t unit); /* NULL: none */

static inline bool sm_probe_is_way(const sm_probe_point *point) {
    return point->ways[0].from != SM_NO_LINE || point->ways[1].from != SM_NO_LINE;
}

/* The line that was reported last when an exception leaves a frame that is at this unit. */
int sm_probe_exit_line(PyCodeObject *code, uint32_t unit);

/* The line of every unit, SM_NO_LINE where there is none; NULL: out of memory. sm_free() it. */
int32_t *sm_probe_lines(PyCodeObject *code, uint32_t units);

/* To trace code whose line table goes on behind its end overruns the interpreter's own memory, or leaves it unset where
 * the table ends too early. If it is such code, this makes what the interpreter would make wrongly. false: out of
 * memory. */
bool sm_probe_mend_lines(PyCodeObject *code);

#endif
#endif
