#include "hook/choice.h"

#include <string.h>

#include "base/alloc.h"

void sm_choice_clear(sm_choice *choice) {
    sm_filter_release(choice->filter);
    sm_free(choice->verdicts);
    *choice = (sm_choice){0};
}

/* Asked once for a function; NULL: out of memory. */
static const sm_filter_code *verdict(sm_choice *choice, const sm_function *function, PyCodeObject *code) {
    if (function->id >= choice->size) {
        uint32_t size = function->id + function->id / 2 + 256;
        sm_filter_code *verdicts = sm_realloc(choice->verdicts, size * sizeof *verdicts);
        if (verdicts == NULL)
            return NULL;
        memset(verdicts + choice->size, 0, (size - choice->size) * sizeof *verdicts);
        choice->verdicts = verdicts;
        choice->size = size;
    }
    sm_filter_code *known = &choice->verdicts[function->id];
    if (known->yes == 0 && known->maybe == 0)
        *known = sm_filter_of_code(choice->filter, function, code);
    return known;
}

uint32_t sm_choice_of_code(sm_choice *choice, PyCodeObject *code, PyObject *globals) {
    const sm_function *function = sm_function_of_code(code, globals);
    const sm_filter_code *known = function && !function->hidden ? verdict(choice, function, code) : NULL;
    return known != NULL ? known->yes | known->maybe : 0;
}

bool sm_choice_of_event(sm_choice *choice, const sm_hook_event *event) {
    if (choice->filter == NULL)
        return true;
    const sm_function *function = sm_function_of_code(event->code, NULL);
    const sm_filter_code *known = function && !function->hidden ? verdict(choice, function, event->code) : NULL;
    if (known == NULL || (known->maybe & SM_HOOK_BIT(event->kind)) == 0)
        return known != NULL && (known->yes & SM_HOOK_BIT(event->kind)) != 0;
    const uint32_t raising = SM_HOOK_BIT(SM_HOOK_RAISE) | SM_HOOK_BIT(SM_HOOK_STOP_ITERATION) |
                             SM_HOOK_BIT(SM_HOOK_THROW) | SM_HOOK_BIT(SM_HOOK_UNWIND);
    sm_facts facts = {
        .kind = (sm_event_kind)event->kind,
        .function = function,
        .line = event->line,
        .exception = SM_HOOK_BIT(event->kind) & raising ? event->arg : NULL,
    };
    if (event->line == 0 && event->offset >= 0)
        facts.line = PyCode_Addr2Line(event->code, event->offset);
    return sm_filter_of_event(choice->filter, known, &facts) == SM_YES;
}
