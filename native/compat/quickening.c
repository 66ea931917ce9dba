#include "compat/quickening.h"

#if SM_HAS_EVALFRAME

#define Py_BUILD_CORE 1
#define NEED_OPCODE_TABLES 1
#include "internal/pycore_opcode.h"
#undef NEED_OPCODE_TABLES
#undef Py_BUILD_CORE

uint8_t sm_opcode_plain(uint8_t opcode) {
    uint8_t plain = _PyOpcode_Deopt[opcode];
    return plain != 0 ? plain : opcode;
}

uint8_t sm_opcode_caches(uint8_t plain) {
    return _PyOpcode_Caches[plain];
}

uint8_t sm_opcode_adaptive(uint8_t plain) {
    switch (plain) {
    case BINARY_OP:
        return BINARY_OP_ADAPTIVE;
    case BINARY_SUBSCR:
        return BINARY_SUBSCR_ADAPTIVE;
    case CALL:
        return CALL_ADAPTIVE;
    case COMPARE_OP:
        return COMPARE_OP_ADAPTIVE;
    case JUMP_BACKWARD:
        return JUMP_BACKWARD_QUICK;
    case LOAD_ATTR:
        return LOAD_ATTR_ADAPTIVE;
    case LOAD_GLOBAL:
        return LOAD_GLOBAL_ADAPTIVE;
    case LOAD_METHOD:
        return LOAD_METHOD_ADAPTIVE;
    case PRECALL:
        return PRECALL_ADAPTIVE;
    case STORE_ATTR:
        return STORE_ATTR_ADAPTIVE;
    case STORE_SUBSCR:
        return STORE_SUBSCR_ADAPTIVE;
    case UNPACK_SEQUENCE:
        return UNPACK_SEQUENCE_ADAPTIVE;
    default:
        return 0;
    }
}

bool sm_opcode_is_fused(uint8_t opcode) {
    return opcode == LOAD_CONST__LOAD_FAST || opcode == LOAD_FAST__LOAD_CONST || opcode == LOAD_FAST__LOAD_FAST ||
           opcode == STORE_FAST__LOAD_FAST || opcode == STORE_FAST__STORE_FAST;
}

bool sm_opcode_compares_and_jumps(uint8_t opcode) {
    return opcode == COMPARE_OP_FLOAT_JUMP || opcode == COMPARE_OP_INT_JUMP || opcode == COMPARE_OP_STR_JUMP;
}

#endif
