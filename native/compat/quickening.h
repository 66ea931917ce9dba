/* Specialised instructions of 3.11. Elsewhere nothing is compiled. */
#pragma once

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

#include <opcode.h>

/* Return the instruction before it was specialised or fused with the next one. */
uint8_t sm_opcode_plain(uint8_t opcode);
/* Return the form that counts and specialises, or 0. */
uint8_t sm_opcode_adaptive(uint8_t plain);
uint8_t sm_opcode_caches(uint8_t plain);
/* Return true if it also runs the next instruction, without reading its opcode. */
bool sm_opcode_is_fused(uint8_t opcode);
bool sm_opcode_compares_and_jumps(uint8_t opcode);

static inline bool sm_code_is_quickened(const PyCodeObject *code) {
    return code->co_warmup == 0;
}
static inline uint8_t *sm_code_bytes(PyCodeObject *code) { /* pairs of opcode and argument, as in running code */
    return (uint8_t *)code->co_code_adaptive;
}
/* Return true if the interpreter has made the lines of all units, which it does at the first traced event. */
static inline bool sm_code_has_lines(const PyCodeObject *code) {
    return code->_co_linearray != NULL;
}
/* Allocate the lines of all units, to be filled by the caller (-1 for none), or return NULL without an exception. */
static inline int32_t *sm_code_make_lines(PyCodeObject *code) {
    int32_t *lines = PyMem_Malloc((size_t)Py_SIZE(code) * sizeof *lines);
    if (lines != NULL) {
        code->_co_linearray = (char *)lines;
        code->_co_linearray_entry_size = sizeof *lines;
    }
    return lines;
}
/* Return the unit of the first RESUME, before which nothing is reported. */
static inline uint32_t sm_code_first_unit(const PyCodeObject *code) {
    return (uint32_t)code->_co_firsttraceable;
}

#endif
