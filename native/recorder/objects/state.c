/* The state of the objects recorder, and the choice between fast and slow path. */
#include "compat/opcodes.h"
#include "recorder/objects/store.h"

sm_objects_settings sm_objects_chosen;
sm_objects_state sm_objects;
sm_objects_hot_state sm_objects_hot;
sm_objects_passed_state sm_objects_passed;

SM_FAST_TLS sm_objects_thread sm_objects_here;

void sm_objects_set_rare(void) {
    sm_reference_set_quiet(sm_objects_passed.busy || sm_objects_passed.quiet > 0 || sm_objects_passed.list != NULL ||
                           !sm_objects.on || sm_main.apart.last != 0);
}

void sm_objects_set_busy(bool on) {
    sm_objects_passed.busy = on;
    sm_objects_set_rare();
}

void sm_objects_quiet(bool on) {
    SM_OBJECTS_GUARD;
    if (!on && sm_objects_here.quiet == 0)
        return;
    sm_objects_here.quiet += on ? 1 : (uint32_t)-1;
    sm_objects_passed.quiet += on ? 1 : (uint32_t)-1;
    sm_objects_set_rare();
}

bool sm_objects_instruments(PyThreadState *tstate) {
#if SM_INSTRUMENTING_MAKES_LISTS
    const sm_frame_head *frame = sm_tstate_frame(tstate);
    const PyCodeObject *code = frame != NULL ? sm_frame_code_of(frame) : NULL;
    if (code == NULL || code->_co_instrumentation_version == sm_tstate_events_version(tstate))
        return false;
    /* an INSTRUCTION event's opcode may cover the first RESUME */
    ptrdiff_t unit = (frame->instruction - sm_code_instructions(code)) / 2;
    return sm_op_resumes(*frame->instruction) || unit == code->_co_firsttraceable;
#else
    (void)tstate;
    return false;
#endif
}

void sm_objects_pass_over(const PyObject *object) {
    sm_objects_passed.list = object;
    sm_objects_set_rare();
}
