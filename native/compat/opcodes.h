/* The control flow of an instruction, by this version's opcodes, in PyCode_GetCode's bytes. */
#pragma once

#include "compat/compat.h"

#include <opcode.h>

typedef enum {
    SM_OP_PLAIN,    /* continues with the next one; may raise */
    SM_OP_QUIET,    /* continues with the next one and cannot raise */
    SM_OP_POP,      /* like SM_OP_QUIET, and drops the top value */
    SM_OP_KEEP,     /* like SM_OP_QUIET, and stores the top value in a variable */
    SM_OP_STORE,    /* like SM_OP_KEEP, or unpacks it first; may raise */
    SM_OP_LINELESS, /* continues with the next one; never has a LINE event */
    SM_OP_CACHE,    /* no instruction: memory of the previous one */
    SM_OP_EXTENDED, /* no instruction: the upper bits of the next one's argument */
    SM_OP_FORWARD,  /* always jumps */
    SM_OP_BACKWARD,
    SM_OP_IF_FALSE, /* jumps forward if the value is false */
    SM_OP_IF_TRUE,
    SM_OP_IF_NONE,
    SM_OP_IF_NOT_NONE,
    SM_OP_FOR,       /* jumps at the end */
    SM_OP_ASYNC_END, /* ends an async for; an exception leads here */
    SM_OP_SEND,      /* jumps when the receiver has returned */
    SM_OP_RETURN,
    SM_OP_RAISE,
    SM_OP_RERAISE,
} sm_op_class;

#if SM_HAS_MONITORING

/* Return true for the instruction of a suspended generator, as in f_lasti. */
static inline bool sm_op_suspends(uint8_t opcode) {
#if PY_VERSION_HEX >= 0x030D0000
    return opcode == RESUME; /* it resumes there */
#else
    return opcode == YIELD_VALUE;
#endif
}

static inline sm_op_class sm_op_class_of(uint8_t opcode) {
    switch (opcode) {
    case CACHE:
        return SM_OP_CACHE;
    case EXTENDED_ARG:
        return SM_OP_EXTENDED;
    case NOP:
    case COPY:
    case SWAP:
#ifdef NOT_TAKEN
    case NOT_TAKEN:
#endif
        return SM_OP_QUIET;
    case POP_TOP:
#ifdef POP_ITER
    case POP_ITER:
#endif
        return SM_OP_POP;
    case END_FOR:
    case END_SEND:
    case RESUME:
        return SM_OP_LINELESS;
    case STORE_FAST:
        return SM_OP_KEEP;
    case STORE_NAME:
    case STORE_GLOBAL:
    case STORE_DEREF:
#ifdef STORE_FAST_STORE_FAST
    case STORE_FAST_STORE_FAST:
    case STORE_FAST_LOAD_FAST:
#endif
    case UNPACK_SEQUENCE:
    case UNPACK_EX:
        return SM_OP_STORE;
    case JUMP_FORWARD:
        return SM_OP_FORWARD;
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
        return SM_OP_BACKWARD;
    case POP_JUMP_IF_FALSE:
        return SM_OP_IF_FALSE;
    case POP_JUMP_IF_TRUE:
        return SM_OP_IF_TRUE;
    case POP_JUMP_IF_NONE:
        return SM_OP_IF_NONE;
    case POP_JUMP_IF_NOT_NONE:
        return SM_OP_IF_NOT_NONE;
    case FOR_ITER:
        return SM_OP_FOR;
    case END_ASYNC_FOR:
        return SM_OP_ASYNC_END;
    case SEND:
        return SM_OP_SEND;
    case RETURN_VALUE:
    case RETURN_GENERATOR:
#ifdef RETURN_CONST
    case RETURN_CONST:
#endif
        return SM_OP_RETURN;
    case RAISE_VARARGS:
        return SM_OP_RAISE;
    case RERAISE:
        return SM_OP_RERAISE;
    default:
        return SM_OP_PLAIN;
    }
}

#else

static inline sm_op_class sm_op_class_of(uint8_t opcode) {
    return opcode == CACHE ? SM_OP_CACHE : SM_OP_PLAIN;
}

#endif

/* Return true for the instruction after a conditional jump that reports that it did not jump (3.13 and later). */
static inline bool sm_op_is_not_taken(uint8_t opcode) {
#ifdef NOT_TAKEN
    return opcode == NOT_TAKEN;
#else
    (void)opcode;
    return false;
#endif
}

/* Return true if the instruction makes the next one's condition. It has the expression's location even if the
 * compiler inverted the jump, which then has another one (3.13 and later). */
static inline bool sm_op_decides(uint8_t opcode) {
#ifdef TO_BOOL
    return opcode == TO_BOOL || opcode == COMPARE_OP || opcode == CONTAINS_OP || opcode == IS_OP;
#else
    (void)opcode;
    return false;
#endif
}

#if SM_HAS_MONITORING
/* Return true for RESUME in running code, specialised or instrumented. */
static inline bool sm_op_resumes(uint8_t opcode) {
    return opcode == RESUME || opcode == INSTRUMENTED_RESUME
#ifdef RESUME_CHECK
           || opcode == RESUME_CHECK
#endif
#ifdef RESUME_CHECK_JIT
           || opcode == RESUME_CHECK_JIT
#endif
        ;
}
#endif

/* There is one BRANCH event for both ways (3.12, 3.13), or one for each. */
#define SM_ONE_BRANCH_EVENT (PY_VERSION_HEX < 0x030E0000)

/* Units that a for loop skips at its end: END_FOR, and from 3.13 on the instruction that pops the iterator. */
#define SM_FOR_SKIPS (PY_VERSION_HEX < 0x030D0000 ? 1 : 2)

#if SM_LOOP_ENDS_HIDE_LINES
/* Return true for the end of a for loop or an async for in running code. */
static inline bool sm_op_ends_loop(uint8_t opcode) {
    return opcode == END_FOR || opcode == INSTRUMENTED_END_FOR || opcode == END_ASYNC_FOR ||
           opcode == INSTRUMENTED_END_ASYNC_FOR || opcode == INSTRUMENTED_INSTRUCTION;
}
#endif

static inline bool sm_op_pops_iterator(uint8_t opcode) {
#ifdef POP_ITER
    return opcode == POP_ITER;
#else
    (void)opcode;
    return false;
#endif
}

/* Return the compiled bytes, a new reference, or NULL with an exception set. They do not stay cached in the code
 * object, where they would count as the program's memory. */
static inline PyObject *sm_code_bytes(PyCodeObject *code) {
#if SM_HAS_MONITORING && !SM_FREE_THREADED
    bool kept = code->_co_cached != NULL && code->_co_cached->_co_code != NULL;
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes != NULL && !kept && code->_co_cached != NULL)
        Py_CLEAR(code->_co_cached->_co_code);
    return bytes;
#else
    return PyCode_GetCode(code);
#endif
}
