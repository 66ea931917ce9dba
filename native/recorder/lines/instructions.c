/* Instructions, counted. A table has a counter for each unit of its function's code; INSTRUCTION events add to it. What
 * an instruction is called is found at the end, with the interpreter's own disassembler (dis), which knows what its
 * arguments mean in this version. For that the code object is held until then. dis is Python code: it runs when the
 * events are off, or with the thread told to report none, never on the way of an event; so what a killed process leaves
 * behind has counts and lines, and no texts. */
#include <string.h>

#include "base/alloc.h"
#include "code/linewalk.h"
#include "compat/exception.h"
#include "recorder/lines/line_tables.h"

void sm_lines_add_instructions(sm_line_table *table, PyCodeObject *code) {
    uint32_t count = (uint32_t)Py_SIZE(code);
    sm_line_instructions *made = sm_calloc(1, sizeof *made + count * sizeof made->hits[0]);
    if (made == NULL) {
        sm_engine.lost_memory++;
        return;
    }
    made->code = (PyCodeObject *)Py_NewRef(code);
    made->count = count;
    table->instructions = made;
}

void sm_lines_free_instructions(sm_line_table *table) {
    sm_line_instructions *made = table->instructions;
    if (made == NULL)
        return;
    table->instructions = NULL;
    for (uint32_t i = 0; made->texts != NULL && i < made->count; i++)
        sm_free(made->texts[i]);
    Py_DECREF(made->code);
    sm_free(made->texts);
    sm_free(made->rows);
    sm_free(made);
}

bool sm_lines_count_instruction(sm_thread *thread, const void *code, uint32_t offset) {
    (void)thread;
    sm_line_table *table = sm_lines_table(code, NULL);
    if (table == NULL)
        return !sm_lines_hides(code);
    if (table->instructions != NULL && offset / 2 < table->instructions->count)
        table->instructions->hits[offset / 2]++;
    return true;
}

/* "LOAD_FAST  x": what dis says of an instruction. A new reference. */
static PyObject *text_of(PyObject *instruction) {
    PyObject *name = PyObject_GetAttrString(instruction, "opname");
    PyObject *argument = name ? PyObject_GetAttrString(instruction, "argrepr") : NULL;
    PyObject *text = NULL;
    if (argument != NULL)
        text = PyObject_IsTrue(argument) > 0 ? PyUnicode_FromFormat("%U %U", name, argument) : Py_NewRef(name);
    Py_XDECREF(name);
    Py_XDECREF(argument);
    return text;
}

static void tell_one(const sm_line_instructions *of, char **texts, PyObject *instruction) {
    PyObject *offset = PyObject_GetAttrString(instruction, "offset"), *text = text_of(instruction), *bytes = NULL;
    long place = offset ? PyLong_AsLong(offset) / 2 : -1;
    if (text != NULL)
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (bytes != NULL && place >= 0 && place < (long)of->count && texts[place] == NULL) {
        size_t size = (size_t)PyBytes_GET_SIZE(bytes) + 1;
        texts[place] = sm_malloc(size);
        if (texts[place] != NULL)
            memcpy(texts[place], PyBytes_AS_STRING(bytes), size);
    }
    Py_XDECREF(offset);
    Py_XDECREF(text);
    Py_XDECREF(bytes);
    PyErr_Clear();
}

static void tell(sm_line_instructions *of, PyObject *get_instructions) {
    of->told = true;
    char **texts = sm_calloc(of->count, sizeof *texts);
    if (texts == NULL) {
        sm_engine.lost_memory++;
        return;
    }
    PyObject *all = PyObject_CallOneArg(get_instructions, (PyObject *)of->code), *instruction = NULL;
    PyObject *each = all ? PyObject_GetIter(all) : NULL;
    while (each != NULL && (instruction = PyIter_Next(each)) != NULL) {
        tell_one(of, texts, instruction);
        Py_DECREF(instruction);
    }
    Py_XDECREF(each);
    Py_XDECREF(all);
    PyErr_Clear();
    sm_engine_lock();
    of->texts = texts;
    sm_engine_unlock();
}

void sm_lines_disassemble(void) {
    sm_exception kept = sm_exception_keep();
    PyObject *modules = PyImport_GetModuleDict(); /* whoever wants opcodes has imported it */
    PyObject *dis = modules ? PyDict_GetItemString(modules, "dis") : NULL;
    PyObject *get_instructions = dis ? PyObject_GetAttrString(dis, "get_instructions") : NULL;
    for (uint32_t i = 0; get_instructions != NULL && i < sm_lines.tables_size; i++) {
        sm_line_table *table = sm_lines.tables[i];
        if (table != NULL && table->instructions != NULL && !table->instructions->told)
            tell(table->instructions, get_instructions);
    }
    Py_XDECREF(get_instructions);
    PyErr_Clear();
    sm_exception_restore(kept);
}

/* The number of an instruction's row, from 0. Without gaps, which a reader would take for damage: most of a large
 * function may never have run. UINT32_MAX: no memory. */
static uint32_t number_of(sm_line_instructions *of, uint32_t i) {
    if (of->rows == NULL)
        of->rows = sm_calloc(of->count, sizeof *of->rows);
    if (of->rows == NULL)
        return UINT32_MAX;
    if (of->rows[i] == 0)
        of->rows[i] = ++sm_lines.instruction_rows;
    return of->rows[i] - 1;
}

static void save_one(sm_output *output, const sm_line_table *table, uint32_t i, int64_t line) {
    sm_line_instructions *of = table->instructions;
    const char *text = of->texts ? of->texts[i] : NULL;
    uint32_t function = sm_output_function_number(output, table->function);
    if (function == UINT32_MAX)
        return;
    uint32_t number = number_of(of, i);
    if (number == UINT32_MAX) {
        output->lost++;
        return;
    }
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_INSTRUCTIONS_ID] = number;
    row[SM_INSTRUCTIONS_FUNCTION] = function;
    row[SM_INSTRUCTIONS_OFFSET] = (int64_t)i * 2;
    row[SM_INSTRUCTIONS_LINE] = line > 0 ? line : 0;
    row[SM_INSTRUCTIONS_TEXT] = text ? (int64_t)sm_writer_string(output->writer, text, strlen(text)) : 0;
    row[SM_INSTRUCTIONS_HITS] = (int64_t)SM_READ(of->hits[i]);
    sm_writer_row(output->writer, SM_INSTRUCTIONS, row, NULL);
}

/* Of a function whose texts are there all instructions are saved, those that never ran, too; before that, those that
 * ran. */
void sm_lines_save_instructions(sm_output *output) {
    for (uint32_t t = 0; t < sm_lines.tables_size; t++) {
        const sm_line_table *table = sm_lines.tables[t];
        if (table == NULL || table->instructions == NULL)
            continue;
        const sm_line_instructions *of = table->instructions;
        sm_line_walk walk = sm_line_walk_of(of->code); /* its bytes never change */
        for (bool more = sm_line_next(&walk); more; more = sm_line_next(&walk)) {
            for (uint64_t i = walk.unit; i < walk.unit + walk.units && i < of->count; i++) {
                if (of->texts != NULL ? of->texts[i] != NULL : SM_READ(of->hits[i]) > 0)
                    save_one(output, table, (uint32_t)i, walk.has_line ? walk.line : 0);
            }
        }
    }
}
