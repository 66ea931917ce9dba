/* Somebody else's reference tracer, loaded by ctypes: counts, chains whom it finds if told so, and goes again. */
#include <Python.h>

#if PY_VERSION_HEX >= 0x030D0000
static long created, destroyed, removed;
static int data; /* so that nobody takes it for tracemalloc */
static PyRefTracer chained;
static void *chained_data;

static int count(PyObject *object, PyRefTracerEvent event, void *mine) {
    if (mine != &data)
        return -1;
    if (object == NULL)
        removed++;
    else if (event == PyRefTracer_CREATE)
        created++;
    else
        destroyed++;
    return chained && object ? chained(object, event, chained_data) : 0;
}

void foreign_install(int chain) {
    PyRefTracer before = PyRefTracer_GetTracer(&chained_data);
    PyRefTracer_SetTracer(count, &data);
    chained = chain ? before : NULL;
}

/* As tracemalloc.stop() does; or what was there before. */
void foreign_uninstall(int restore) {
    if (restore && chained)
        PyRefTracer_SetTracer(chained, chained_data);
    else
        PyRefTracer_SetTracer(NULL, NULL);
    chained = NULL;
}

int foreign_holds(void) {
    void *there;
    return PyRefTracer_GetTracer(&there) == count && there == &data;
}

long foreign_count(int which) {
    return which == 0 ? created : which == 1 ? destroyed : removed;
}
#endif
