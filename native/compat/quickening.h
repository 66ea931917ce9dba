/* What is known of 3.11's instructions. Elsewhere nothing is compiled. */
#ifndef SM_COMPAT_QUICKENING_H
#define SM_COMPAT_QUICKENING_H

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

#include <opcode.h>

/* What the interpreter made of an instruction as it specialised it, or fused it with the next one: what it was. */
uint8_t sm_opcode_plain(uint8_t opcode);
/* The one that counts and specialises; 0: there is none. */
uint8_t sm_opcode_adaptive(uint8_t plain);
/* Units of inline cache behind it. */
uint8_t sm_opcode_caches(uint8_t plain);
/* Does it run the instruction behind it as well, without a look at that one's opcode? */
bool sm_opcode_is_fused(uint8_t opcode);
bool sm_opcode_compares_and_jumps(uint8_t opcode);

static inline bool sm_code_is_quickened(const PyCodeObject *code) {
    return code->co_warmup == 0;
}
static inline uint8_t *sm_code_bytes(PyCodeObject *code) { /* pairs of opcode and argument, as they are run */
    return (uint8_t *)code->co_code_adaptive;
}
/* What the interpreter keeps to trace it, the line of every unit: made at its first event. */
static inline bool sm_code_has_lines(const PyCodeObject *code) {
    return code->_co_linearray != NULL;
}
/* Makes room for them, `units` numbers for the caller to fill (-1: none); NULL: out of memory, no exception. */
static inline int32_t *sm_code_make_lines(PyCodeObject *code) {
    int32_t *lines = PyMem_Malloc((size_t)Py_SIZE(code) * sizeof *lines);
    if (lines != NULL) {
        code->_co_linearray = (char *)lines;
        code->_co_linearray_entry_size = sizeof *lines;
    }
    return lines;
}
/* The first RESUME: before it, nothing is reported. */
static inline uint32_t sm_code_first_unit(const PyCodeObject *code) {
    return (uint32_t)code->_co_firsttraceable;
}

#endif
#endif
