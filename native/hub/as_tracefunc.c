#include "hub/as_tracefunc.h"

PyObject *sm_tracefunc_names[8];

int sm_tracefunc_init(void) {
    static const char *const names[8] = {
        [PyTrace_CALL] = "call",     [PyTrace_EXCEPTION] = "exception", [PyTrace_LINE] = "line",
        [PyTrace_RETURN] = "return", [PyTrace_C_CALL] = "c_call",       [PyTrace_C_EXCEPTION] = "c_exception",
        [PyTrace_OPCODE] = "opcode", [PyTrace_C_RETURN] = "c_return",
    };
    for (int i = 0; i < 8; i++)
        if (sm_tracefunc_names[i] == NULL && (sm_tracefunc_names[i] = PyUnicode_InternFromString(names[i])) == NULL)
            return -1;
    return 0;
}
