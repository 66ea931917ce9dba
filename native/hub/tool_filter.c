#include "hub/tool_filter.h"

#include "base/alloc.h"
#include "code/cfunction.h"
#include "compat/frame.h"
#include "hub/thread_facts.h"

_Static_assert((int)SM_EVENT_KINDS == (int)SM_HOOK_KINDS && (int)SM_EVENT_THROW == (int)SM_HOOK_THROW &&
                   (int)SM_EVENT_UNWIND == (int)SM_HOOK_UNWIND && (int)SM_EVENT_C_CALL == (int)SM_HOOK_C_CALL &&
                   (int)SM_EVENT_C_RAISE == (int)SM_HOOK_C_RAISE && (int)SM_EVENT_LINE == (int)SM_HOOK_LINE &&
                   (int)SM_EVENT_STOP_ITERATION == (int)SM_HOOK_STOP_ITERATION &&
                   (int)SM_EVENT_OPCODE == (int)SM_HOOK_OPCODE,
               "the kinds of filters and those of the hub have the same numbers");

void sm_tool_filter_clear(sm_tool_filter *choice) {
    sm_filter_release(choice->filter);
    sm_free(choice->verdicts);
    *choice = (sm_tool_filter){0};
}

/* Return the filter's verdict on a function, evaluated once, or NULL if out of memory. */
static const sm_filter_code *verdict(sm_tool_filter *choice, const sm_function *function, PyCodeObject *code) {
    if (!sm_grow_to(&choice->verdicts, function->id, &choice->size, sizeof *choice->verdicts))
        return NULL;
    sm_filter_code *known = &choice->verdicts[function->id];
    if (known->yes == 0 && known->maybe == 0)
        *known = sm_filter_of_code(choice->filter, function, code);
    return known;
}

uint32_t sm_tool_filter_of_code(sm_tool_filter *choice, PyCodeObject *code, PyObject *globals) {
    const sm_function *function = sm_function_of_code(code, globals);
    const sm_filter_code *known = function && !function->hidden ? verdict(choice, function, code) : NULL;
    return known != NULL ? known->yes | known->maybe : 0;
}

static bool fact_number(void *Py_UNUSED(context), sm_fact fact, int64_t *value) {
    if (fact != SM_FACT_DEPTH)
        return false;
    *value = sm_tstate_depth(PyThreadState_Get());
    return true;
}

const char *sm_tool_filter_text(void *context, sm_fact fact) {
    PyObject **held = context;
    Py_XSETREF(*held, fact == SM_FACT_THREAD ? sm_fact_thread_name() : sm_fact_task_name());
    const char *text = *held ? PyUnicode_AsUTF8(*held) : "";
    if (text == NULL)
        PyErr_Clear();
    return text;
}

bool sm_tool_filter_of_event(sm_tool_filter *choice, const sm_hook_event *event) {
    if (choice->filter == NULL)
        return true;
    const sm_function *function = sm_function_of_code(event->code, NULL);
    const sm_filter_code *known = function && !function->hidden ? verdict(choice, function, event->code) : NULL;
    if (known == NULL || (known->maybe & SM_HOOK_BIT(event->kind)) == 0)
        return known != NULL && (known->yes & SM_HOOK_BIT(event->kind)) != 0;
    const uint32_t raising = SM_HOOK_BIT(SM_HOOK_RAISE) | SM_HOOK_BIT(SM_HOOK_STOP_ITERATION) |
                             SM_HOOK_BIT(SM_HOOK_THROW) | SM_HOOK_BIT(SM_HOOK_UNWIND);
    PyObject *held = NULL;
    sm_thread_facts facts = {
        .number = fact_number,
        .text = sm_tool_filter_text,
        .context = &held,
        .kind = (sm_event_kind)event->kind,
        .function = function,
        .line = event->line,
        .exception = SM_HOOK_BIT(event->kind) & raising ? event->arg : NULL,
    };
    if ((SM_HOOK_BIT(event->kind) & SM_HOOK_C_CALLS) != 0 && event->arg != NULL) {
        const void *key = sm_c_function(event->arg, 1);
        facts.callee = key != NULL ? sm_function_of_c(key, event->arg) : NULL;
    }
    if (event->line == 0 && event->offset >= 0)
        facts.line = PyCode_Addr2Line(event->code, event->offset);
    bool wanted = sm_filter_of_event(choice->filter, known, &facts) == SM_YES;
    Py_XDECREF(held);
    return wanted;
}
