#include "compat/code_deaths.h"

#include "compat/core_lock.h"
#include "compat/exception.h"

static struct {
    void (*died)(const PyCodeObject *code); /* NULL without a user */
    int watcher;                            /* -1 if none: the type's deallocator is replaced */
    destructor below;                       /* the previous deallocator */
    bool placed;                            /* ours is installed, or below one that was set later */
} deaths = {.watcher = -1};

#if PY_VERSION_HEX >= 0x030C0000
static bool is_main(void) {
    const PyThreadState *tstate = sm_tstate_unchecked();
    return tstate != NULL && sm_tstate_interpreter(tstate) == PyInterpreterState_Main();
}

static int watch(PyCodeEvent Py_UNUSED(event), PyCodeObject *code) {
    SM_CORE_GUARD;
    if (deaths.died != NULL)
        deaths.died(code);
    return 0;
}

int sm_code_deaths_watch_here(void) {
    return PyCode_AddWatcher(watch);
}

static bool begin_watching(void) {
    deaths.watcher = PyCode_AddWatcher(watch);
    if (deaths.watcher < 0)
        PyErr_Clear(); /* all watcher ids are taken */
    return deaths.watcher >= 0;
}

static void end_watching(void) {
    sm_world_stop(); /* until no other thread is about to call it */
    bool failed = PyCode_ClearWatcher(deaths.watcher) < 0;
    sm_world_start();
    if (failed)
        PyErr_Clear();
    deaths.watcher = -1;
}
#else
static bool is_main(void) { /* all interpreters share one lock */
    return true;
}
static bool begin_watching(void) {
    return false;
}
static void end_watching(void) {}
#endif

static void dealloc(PyObject *code) {
    if (is_main() && deaths.died != NULL && deaths.watcher < 0)
        deaths.died((PyCodeObject *)code);
    deaths.below(code);
}

void sm_code_deaths_begin(void (*died)(const PyCodeObject *code)) {
    SM_EXCEPTION_GUARD;
    deaths.died = died;
    if (!begin_watching() && !deaths.placed) {
        deaths.below = PyCode_Type.tp_dealloc;
        PyCode_Type.tp_dealloc = dealloc;
        deaths.placed = true;
    }
}

void sm_code_deaths_end(void) {
    SM_EXCEPTION_GUARD;
    deaths.died = NULL;
    if (deaths.watcher >= 0)
        end_watching();
    if (deaths.placed && PyCode_Type.tp_dealloc == dealloc) { /* otherwise ours stays in place below another tool's */
        PyCode_Type.tp_dealloc = deaths.below;
        deaths.placed = false;
    }
}
