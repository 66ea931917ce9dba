/* The hub's hook on 3.11: the profile and trace slots. */
#include "hook/backend.h"

#if !SM_HAS_MONITORING

static const char *objection(void) {
    return "not there yet on 3.11";
}
static int start(void) {
    return 0;
}
static void stop(void) {}
static int want(void) {
    return 0;
}
static bool holds(void) {
    return true;
}

const sm_hook_backend sm_hook_backend_here = {"slots", objection, start, stop, want, NULL, start, holds, NULL};

#endif
