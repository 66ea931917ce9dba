/* The profilefunc source: the interpreter's profile function, on every thread. */
#include "source/profilefunc.h"

#include <opcode.h>
#include <string.h>

#include "compat/exception.h"

bool sm_profilefunc_c_functions = false;

bool sm_frame_is_fresh(PyFrameObject *frame, PyCodeObject *code) {
    /* The code begins with [MAKE_CELL, COPY_FREE_VARS], RETURN_GENERATOR, POP_TOP, RESUME; a frame that has not begun
     * is at one of the last two. */
    const unsigned char *unit = (const unsigned char *)code->co_code_adaptive;
    int last = PyFrame_GetLasti(frame), size = (int)Py_SIZE(code) * 2;
    for (int offset = 0; offset < size && offset <= last; offset += 2) {
        if (unit[offset] == RETURN_GENERATOR)
            return last == offset + 4; /* Before its start, a frame that is thrown into is at RETURN_GENERATOR. */
    }
    return last <= 4;
}

static const char *objection(void) {
    PyThreadState *tstate = PyThreadState_Get();
    if (!SM_SHARES_SLOTS && tstate->c_profilefunc != NULL && tstate->c_profilefunc != sm_profilefunc_in_use)
        return "another profiler holds this thread's profile function (sys.getprofile() says which)";
    return NULL;
}

static int start(const sm_settings *settings) {
    const char *why_not = objection();
    if (why_not != NULL)
        return SM_FAIL(PyExc_RuntimeError, "%s", why_not);
    if (PySys_Audit("sys.setprofile", NULL) < 0)
        return -1;
    sm_profilefunc_c_functions = strcmp(settings->c_functions, "none") != 0;
    return sm_profile_threads_start();
}

/* Return true if Cython 3 compiled a loaded module. Such modules share types in a module with this prefix. */
static bool cython_is_here(void) {
    PyObject *modules = PyImport_GetModuleDict(), *name, *module;
    Py_ssize_t place = 0;
    while (modules != NULL && PyDict_Check(modules) && PyDict_Next(modules, &place, &name, &module)) {
        const char *text = PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : NULL;
        if (text != NULL && strncmp(text, "_cython_3", strlen("_cython_3")) == 0)
            return true;
    }
    PyErr_Clear();
    return false;
}

static void stop(void) {
    SM_EXCEPTION_GUARD;
    sm_profile_threads_stop();
    sm_engine.cython_unseen = sm_profilefunc_c_functions && (sm_engine.cython_unseen || cython_is_here());
}

static void poll(void) {
    sm_engine.late_threads += sm_profile_threads_look();
    sm_engine.cython_unseen = sm_profilefunc_c_functions && (sm_engine.cython_unseen || cython_is_here());
}

const sm_source sm_source_profilefunc = {"profilefunc", objection, start, stop, poll, NULL, false, false, false, NULL};
