/* What the source has of each code object: its record of coverage, and its probes if it can have some. */
#include "source/py311/probes/probe_state.h"

#if SM_HAS_EVALFRAME

#include "base/alloc.h"
#include "compat/exception.h"

#define STATIC_REFERENCES (1 << 28) /* a static object has more than these */

void sm_probe_release(sm_code_entry *entry) {
    sm_probed *probed = entry->of[SM_CODE_PROBES];
    entry->of[SM_CODE_PROBES] = NULL;
    if (((uintptr_t)probed & 1) != 0)
        return;
    *probed->link = probed->next;
    if (probed->next != NULL)
        probed->next->link = probed->link;
    sm_probe_points_clear(&probed->points);
    sm_free(probed->armed);
    sm_free(probed);
}

static bool can_be_probed(PyCodeObject *code) {
#ifdef Py_DEBUG
    return false; /* the loop of debug builds asserts that RETURN_VALUE leaves an empty stack */
#endif
    return !sm_probe.counts && !sm_probe.escaped && Py_REFCNT(code) < STATIC_REFERENCES && Py_SIZE(code) > 0;
}

static sm_probed *make(PyCodeObject *code, sm_cover_code *record) {
    sm_probed *made = sm_calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    *made = (sm_probed){.record = record, .code = code, .traced = true};
    if (can_be_probed(code)) {
        bool found = sm_probe_points_find(&made->points, code, sm_probe.steps);
        if (found && !made->points.odd)
            made->armed = sm_calloc(made->points.units, 1);
        made->traced = made->armed == NULL;
        if (made->traced)
            sm_probe_points_clear(&made->points);
    }
    return made;
}

sm_probed *sm_probe_meet(PyCodeObject *code, PyObject *globals) {
    SM_EXCEPTION_GUARD;
    (void)sm_probe_mend_lines(code);
    sm_cover_code *record = sm_cover_meet(code, globals);
    if (record != NULL)
        sm_cover_publish(record);
    sm_probed *made = record != NULL ? make(code, record) : NULL;
    sm_code_entry *entry = sm_code_entry_make(code);
    if (entry != NULL)
        entry->of[SM_CODE_PROBES] = record != NULL ? (void *)made : sm_probe.unwanted;
    if (entry == NULL || (record != NULL && made == NULL)) {
        sm_probe.lost++;
        if (made != NULL) {
            sm_probe_points_clear(&made->points);
            sm_free(made->armed);
        }
        SM_CLEAR(made);
    }
    if (made != NULL) {
        made->next = sm_probe.codes;
        made->link = &sm_probe.codes;
        if (made->next != NULL)
            made->next->link = &made->next;
        sm_probe.codes = made;
    }
    return made;
}

#endif
