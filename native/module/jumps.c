/* seismo._core.code_branches: a code object's conditional jumps, for tests. */
#ifdef SM_TESTING
#include "code/jumps.h"
#include "module/containers.h"
#include "module/module.h"

static PyObject *branch_row(const sm_branch *branch) {
    return Py_BuildValue("{sI s(II) s(II) s(ii) s(ii) si si si si si si si}", "offset", branch->offset, "also",
                         branch->also[0], branch->also[1], "to", branch->to[SM_FELL], branch->to[SM_JUMPED], "to_line",
                         branch->to_line[SM_FELL], branch->to_line[SM_JUMPED], "line_events",
                         branch->line_events[SM_FELL], branch->line_events[SM_JUMPED], "from_line", branch->from_line,
                         "line", branch->line, "column", branch->column, "end_line", branch->end_line, "end_column",
                         branch->end_column, "kind", branch->kind, "silent", branch->silent);
}

static PyObject *rows_of(const sm_branches *table) {
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < table->count; i++) {
        const sm_branch *branch = &table->branches[i];
        PyObject *row = sm_branches_at(table, branch->offset) == branch ? branch_row(branch) : NULL;
        if (row == NULL && !PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "a branch cannot be found by its offset");
        sm_list_add(&rows, row);
    }
    for (uint32_t i = 0; rows != NULL && i < table->line_events_count; i++) {
        const sm_line_event *line_event = sm_branches_line_event(table, table->line_events[i].offset);
        if (line_event == NULL ||
            table->branches[line_event->branch].line_events[line_event->way] != line_event->offset) {
            PyErr_SetString(PyExc_SystemError, "a line that reports a branch cannot be found by its offset");
            Py_CLEAR(rows);
        }
    }
    return rows;
}

static PyObject *code_branches(PyObject *Py_UNUSED(module), PyObject *code) {
    if (!PyCode_Check(code))
        return PyErr_Format(PyExc_TypeError, "expected a code object, not %.100s", Py_TYPE(code)->tp_name);
    sm_branches *table = sm_branches_new((PyCodeObject *)code);
    if (table == NULL)
        return PyErr_NoMemory();
    PyObject *rows = rows_of(table);
    sm_branches_free(table);
    return rows;
}

PyMethodDef sm_methods_jumps[] = {
    {"code_branches", code_branches, METH_O,
     "Return the conditional jumps of a code object by offset, as sys.monitoring's events report them "
     "(native/code/jumps.h). Pairs are (not jumped, jumped). 3.11 has no such events and no rows."},
    {NULL, NULL, 0, NULL},
};
#endif
