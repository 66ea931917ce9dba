/* The interpreter describes its structures at the head of _PyRuntime. All accesses are checked against this
 * description, because an extension built with 3.14.0 runs on 3.14.10, whose structures may differ. */
#include <patchlevel.h>
#if PY_VERSION_HEX < 0x030D0000
#define Py_BUILD_CORE 1
#endif
#include "compat/runtime.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list of interpreters in the runtime state, from 3.11 to 3.15. */
typedef struct {
    PyInterpreterState *newest, *main;
    int64_t next_id;
} interpreter_list;

#if PY_VERSION_HEX >= 0x030D0000
#include "compat/frame.h"
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_debug_offsets.h"
#include "internal/pycore_interp_structs.h"
PyAPI_DATA(_Py_DebugOffsets) _PyRuntime; /* its first field */
#define OFFSETS _PyRuntime
#else
#include "internal/pycore_runtime.h"
#define OFFSETS _PyRuntime.debug_offsets
#endif
#undef Py_BUILD_CORE

bool sm_runtime_find(sm_runtime_places *places) {
    const _Py_DebugOffsets *offsets = &OFFSETS;
    if (memcmp(offsets->cookie, "xdebugpy", 8) != 0 || offsets->version >> 16 != Py_Version >> 16)
        return false;
    uint64_t collecting = offsets->gc.collecting, head = offsets->runtime_state.interpreters_head;
    uint64_t gc = offsets->interpreter_state.gc, holder = offsets->interpreter_state.gil_runtime_state_holder;
    if (collecting >= offsets->gc.size || head >= offsets->runtime_state.size ||
        gc + offsets->gc.size > offsets->interpreter_state.size || holder >= offsets->interpreter_state.size)
        return false;
    const char *interpreter = (const char *)PyInterpreterState_Main();
    places->collecting = (const int *)(interpreter + gc + collecting);
    places->newest = (PyInterpreterState *const *)((const char *)&_PyRuntime + head);
    places->holder = (PyThreadState *const *)(interpreter + holder);
    places->interpreter_size = offsets->interpreter_state.size;
    return true;
}

/* A structure of the same size is assumed to have the same fields. */
static PyObject **find_callbacks(void) {
    const _Py_DebugOffsets *offsets = &OFFSETS;
    if (memcmp(offsets->cookie, "xdebugpy", 8) != 0 || offsets->gc.size != sizeof(struct _gc_runtime_state) ||
        offsets->gc.collecting != offsetof(struct _gc_runtime_state, collecting))
        return NULL;
    char *gc = (char *)PyInterpreterState_Main() + offsets->interpreter_state.gc;
    return (PyObject **)(gc + offsetof(struct _gc_runtime_state, callbacks));
}

/* Return true if a structure that is read by compiled offsets has moved. */
static bool is_elsewhere(void) {
    const _Py_DebugOffsets *offsets = &OFFSETS;
    return memcmp(offsets->cookie, "xdebugpy", 8) != 0 || offsets->version >> 16 != Py_Version >> 16 ||
           offsets->pyobject.ob_type != offsetof(PyObject, ob_type) ||
           offsets->thread_state.interp != offsetof(PyThreadState, interp) ||
           offsets->thread_state.current_frame != offsetof(PyThreadState, current_frame) ||
           offsets->interpreter_frame.executable != offsetof(sm_frame_head, executable) ||
           offsets->interpreter_frame.previous != offsetof(sm_frame_head, previous) ||
           offsets->interpreter_frame.instr_ptr != offsetof(sm_frame_head, instruction) ||
           offsets->code_object.filename != offsetof(PyCodeObject, co_filename) ||
           offsets->code_object.qualname != offsetof(PyCodeObject, co_qualname) ||
           offsets->code_object.linetable != offsetof(PyCodeObject, co_linetable) ||
           offsets->code_object.firstlineno != offsetof(PyCodeObject, co_firstlineno) ||
           offsets->code_object.co_code_adaptive != offsetof(PyCodeObject, co_code_adaptive) ||
           offsets->type_object.tp_name != offsetof(PyTypeObject, tp_name) ||
           offsets->type_object.tp_flags != offsetof(PyTypeObject, tp_flags);
}

static const interpreter_list *find_list(void) {
    uint64_t head = OFFSETS.runtime_state.interpreters_head;
    if (memcmp(OFFSETS.cookie, "xdebugpy", 8) != 0 || head + sizeof(interpreter_list) > OFFSETS.runtime_state.size)
        return NULL;
    return (const interpreter_list *)((const char *)&_PyRuntime + head);
}

#else

static bool is_elsewhere(void) { /* 3.11 and 3.12 are compiled with the structures themselves */
    return false;
}

#if PY_VERSION_HEX < 0x030D0000
#include "internal/pycore_runtime.h"
static const interpreter_list *find_list(void) {
    return (const interpreter_list *)&_PyRuntime.interpreters.head;
}

static PyObject **find_callbacks(void) {
    return &PyInterpreterState_Main()->gc.callbacks;
}

void sm_wake_for_pending_calls(void) {
    atomic_store_explicit(&PyInterpreterState_Main()->ceval.eval_breaker._value, 1, memory_order_release);
}
#else
static const interpreter_list *find_list(void) {
    return NULL;
}

static PyObject **find_callbacks(void) {
    return NULL;
}
#endif

bool sm_runtime_find(sm_runtime_places *places) {
    (void)places;
    return false;
}

#endif

#if PY_VERSION_HEX >= 0x030D0000
void sm_wake_for_pending_calls(void) {}
#endif

#if SM_WAKING_STOPS_OTHERS
void sm_stop_waking_for_pending_calls(void) {
    struct _ceval_state *ceval = &PyInterpreterState_Main()->ceval;
    atomic_store(&ceval->eval_breaker._value, 0);
    /* Preserve requests of others, even those made just now. */
    if (atomic_load(&ceval->gil_drop_request._value) != 0 ||
        atomic_load(&_PyRuntime.ceval.signals_pending._value) != 0 ||
        __atomic_load_n(&ceval->pending.async_exc, __ATOMIC_SEQ_CST) != 0)
        atomic_store(&ceval->eval_breaker._value, 1);
}
#else
void sm_stop_waking_for_pending_calls(void) {}
#endif

static const interpreter_list *known_list(void) {
    const interpreter_list *list = find_list();
    return list != NULL && list->main == PyInterpreterState_Main() ? list : NULL;
}

#if PY_VERSION_HEX < 0x030C0000
PyAPI_DATA(int) _Py_UnhandledKeyboardInterrupt;
int *sm_interrupt_note(void) {
    return &_Py_UnhandledKeyboardInterrupt;
}
#elif PY_VERSION_HEX < 0x030E0000
int *sm_interrupt_note(void) {
    return known_list() != NULL ? &_PyRuntime.signals.unhandled_keyboard_interrupt : NULL;
}
#else
int *sm_interrupt_note(void) {
    return NULL;
}
#endif

uint64_t sm_interpreters_made(void) {
    const interpreter_list *list = known_list();
    return list != NULL ? (uint64_t)__atomic_load_n(&list->next_id, __ATOMIC_RELAXED) : 0;
}

uint64_t sm_interpreters_gone(void) {
    const interpreter_list *list = known_list();
    return list != NULL ? sm_interpreters_made() - (list->newest != list->main) : 0;
}

#if SM_SETS_FIRST_PATH
PyAPI_FUNC(const PyConfig *) _Py_GetConfig(void);

int sm_set_first_path(PyObject *path) {
    Py_ssize_t length;
    wchar_t *text = PyUnicode_AsWideCharString(path, &length);
    size_t size = text != NULL ? ((size_t)length + 1) * sizeof *text : 0;
    wchar_t *copy = text != NULL ? PyMem_RawMalloc(size) : NULL;
    if (copy != NULL) {
        PyConfig *config = (PyConfig *)(uintptr_t)_Py_GetConfig();
        PyMem_RawFree(config->sys_path_0);
        config->sys_path_0 = memcpy(copy, text, size);
    } else if (text != NULL) {
        PyErr_NoMemory();
    }
    PyMem_Free(text);
    return copy != NULL ? 0 : -1;
}
#else
int sm_set_first_path(PyObject *Py_UNUSED(path)) {
    return 0;
}
#endif

PyObject **sm_collector_callbacks(void) {
    PyObject **place = find_callbacks();
    return place != NULL && *place != NULL && PyList_CheckExact(*place) ? place : NULL;
}

void sm_collector_unraisable(PyObject *callback) {
#if PY_VERSION_HEX >= 0x030E0000
    PyErr_FormatUnraisable("Exception ignored while calling GC callback %R", callback);
#else
    PyErr_WriteUnraisable(callback);
#endif
}

#define NEWEST_KNOWN 0x030F

/* For tests: simulates an interpreter that is not available. */
static bool pretends(const char *what) {
#ifdef SM_TESTING
    const char *given = getenv("SEISMO_PRETEND");
    return given != NULL && strcmp(given, what) == 0;
#else
    (void)what;
    return false;
#endif
}

const char *sm_interpreter_objection(void) {
    static char unknown[256];
    unsigned long version = pretends("newer") ? 0x0310 : Py_Version >> 16;
    if (SM_FREE_THREADED && Py_Version < 0x030E01F0)
        return "this is a free-threaded build of Python before 3.14.1, whose sys.monitoring loses events: use a newer "
               "one, or the ordinary build";
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return "seismo records the main interpreter only, and this is a subinterpreter";
    if (version > NEWEST_KNOWN) {
        snprintf(unknown, sizeof unknown,
                 "this is Python %lu.%lu, which this seismo does not know: it records on 3.11 to 3.%d, and reads "
                 "recordings here all the same; use one of these, or a newer seismo",
                 version >> 8, version & 0xFF, NEWEST_KNOWN & 0xFF);
        return unknown;
    }
    if (is_elsewhere() || pretends("moved"))
        return "the structures of this Python differ from those of the one that seismo was built for: build seismo "
               "again with it (pip install --no-binary seismo --force-reinstall seismo), or use a release of Python";
    return NULL;
}

const char *sm_gil_objection(void) {
    const char *objection = sm_interpreter_objection();
    if (objection == NULL && (SM_FREE_THREADED || pretends("free-threaded")))
        return "this is a free-threaded build of Python, where calls and lines can be recorded by way of "
               "sys.monitoring "
               "only: use the ordinary build for everything else";
    return objection;
}
