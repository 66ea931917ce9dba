/* How the interpreter finds the line of a LINE event, where that takes long (gh-127953).
 *
 * 3.12 and 3.13.0 to 3.13.2 keep the line of each instruction as a difference that must fit into a byte. Where it does
 * not, PyCode_Addr2Line goes through the line table of the code object from its beginning: at each instruction with a
 * LINE event, once for its own line and once for that of the instruction before, to see whether the line is another
 * one. It does so before any callback runs, and where the line is the same, none does. 3.13 knows of most instructions
 * that theirs is always another line than the one before, and searches once. */
#ifndef SM_COMPAT_LINESEARCH_H
#define SM_COMPAT_LINESEARCH_H

#include "compat/frame.h"

/* The difference is to the first line and a 16th of the distance in units of code: fewer of both fit. */
#define SM_FAR_LINES 127
#define SM_FAR_UNITS 2032

#define SM_LINES_SEARCHED (SM_HAS_MONITORING && PY_VERSION_HEX < 0x030E0000)

/* What was built with 3.13.3 runs on 3.13.0, too. */
static inline bool sm_lines_are_searched(void) {
    return SM_LINES_SEARCHED && Py_Version < 0x030D03F0;
}

typedef enum { /* the line of an instruction is found */
               SM_FOUND,
               SM_SEARCHED,
               SM_SEARCHED_ALONE, /* its LINE event is always told, and does not ask for the line before */
} sm_unit_line;

#if SM_LINES_SEARCHED
#include <opcode.h>

/* Has this unit of code a LINE event? For code in which LINE is on. */
static inline bool sm_unit_has_line_event(PyCodeObject *code, uint32_t unit) {
    return sm_code_instructions(code)[2 * unit] == INSTRUMENTED_LINE;
}

static inline sm_unit_line sm_unit_line_of(PyCodeObject *code, uint32_t unit) {
    const signed char *lines = code->_co_monitoring != NULL ? (const signed char *)code->_co_monitoring->lines : NULL;
    int difference = lines != NULL ? lines[2 * unit + 1] : 0;
#if PY_VERSION_HEX >= 0x030D0000
    return difference == -127 ? SM_SEARCHED_ALONE : difference == -126 ? SM_SEARCHED : SM_FOUND;
#else
    return difference == -127 ? SM_SEARCHED : SM_FOUND;
#endif
}

/* The unit of code that a frame is at, which runs or has called. */
static inline uint32_t sm_frame_at(const void *frame, PyCodeObject *code) {
    Py_ssize_t bytes = ((const sm_frame_head *)frame)->instruction - sm_code_instructions(code);
    return bytes >= 0 ? (uint32_t)(bytes / 2) : 0;
}
#else
static inline bool sm_unit_has_line_event(PyCodeObject *code, uint32_t unit) {
    return (void)code, (void)unit, false;
}
static inline sm_unit_line sm_unit_line_of(PyCodeObject *code, uint32_t unit) {
    return (void)code, (void)unit, SM_FOUND;
}
static inline uint32_t sm_frame_at(const void *frame, PyCodeObject *code) {
    return (void)frame, (void)code, 0;
}
#endif
#endif
