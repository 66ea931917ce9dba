// seismo.h is a header for C++, too, and warns of nothing.
#include <seismo.h>

static int on_event(PyObject *, PyFrameObject *, int what, PyObject *) {
    return what == PyTrace_CALL ? 0 : 1;
}

static int on_object(PyObject *, int event, void *) {
    return event == SEISMO_REF_CREATE;
}

extern "C" uint64_t start() {
    if (seismo_import() < 0)
        return 0;
    uint64_t hook = seismo->set_profile(on_event, nullptr, nullptr, "call and function(\"f\")");
    seismo->remove(hook);
    return seismo->set_ref_tracer(on_object, nullptr, PyThreadState_Get(), nullptr);
}
