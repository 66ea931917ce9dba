#include "code/unreported_lines.h"

#include "base/alloc.h"
#include "code/jumps.h"
#include "compat/opcodes.h"

static const sm_unreported none;

/* Return false if the code has no loop, as most code. An inline cache may look like the end of one. */
static bool may_have_loops(PyCodeObject *code) {
#if SM_LOOP_ENDS_HIDE_LINES
    const uint8_t *bytes = (const uint8_t *)code->co_code_adaptive;
    for (Py_ssize_t i = 0; i < Py_SIZE(code); i++)
        if (sm_op_ends_loop(bytes[2 * i]))
            return true;
#else
    (void)code;
#endif
    return false;
}

static sm_unreported *find(PyCodeObject *code) {
    sm_branches *table = may_have_loops(code) ? sm_branches_new(code) : NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; table != NULL && i < table->count; i++)
        count += table->branches[i].unreported_line != 0;
    sm_unreported *made = count != 0 ? sm_malloc(sizeof *made + count * sizeof made->at[0]) : NULL;
    if (made != NULL) {
        made->count = 0;
        for (uint32_t i = 0; i < table->count; i++) {
            const sm_branch *branch = &table->branches[i];
            if (branch->unreported_line == 0)
                continue;
            made->at[made->count].to = (int32_t)branch->to[SM_JUMPED];
            made->at[made->count++].line = branch->unreported_line;
        }
    }
    sm_branches_free(table);
    return made;
}

const sm_unreported *sm_unreported_of(PyCodeObject *code) {
    sm_code_entry *entry = SM_LOOP_ENDS_HIDE_LINES ? sm_code_entry_make(code) : NULL;
    if (entry == NULL)
        return &none;
    if (!entry->asked_for_unreported)
        entry->unreported = find(code);
    entry->asked_for_unreported = true;
    return entry->unreported != NULL ? entry->unreported : &none;
}
