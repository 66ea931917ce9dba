#include "code/function.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/interned.h"
#include "base/lookup_count.h"
#include "code/cfunction.h"
#include "code/text.h"
#include "compat/compat.h"
#include "compat/core_lock.h"
#include "compat/exception.h"

#if SM_FREE_THREADED
/* Guard of the functions and their map, besides the core's lock: events in which a thread must stay attached register
 * functions as well. No holder has a safe point or takes another lock. */
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;

static void leave_registry(const int *Py_UNUSED(scope)) {
    pthread_mutex_unlock(&registry);
}
#define REGISTRY_GUARD                                                                                                 \
    __attribute__((cleanup(leave_registry), unused)) const int registry_scope = 0;                                     \
    pthread_mutex_lock(&registry)
#else
#define REGISTRY_GUARD ((void)0)
#endif

typedef struct {
    uint64_t key; /* address of the definition */
    sm_function *function;
} c_entry;

static struct {
    bool ready;
    char *hide;
    bool (*wants)(const sm_function *function); /* NULL if everything is wanted */
    bool narrowed;                              /* true if the previous filter did not want everything */
    sm_interned all;                            /* each sm_function, by id */
    sm_map c_functions;                         /* c_entry */
} functions;

static PyObject *name_of_module; /* owned; made early, because hooks may make no object */

int sm_functions_init(void) {
    if (functions.ready)
        return 0;
    sm_c_functions_init();
    if (name_of_module == NULL && (name_of_module = PyUnicode_InternFromString("__name__")) == NULL)
        return -1;
    functions.ready = true;
    return 0;
}

static bool is_hidden(const sm_function *function) {
    if (function->kind == SM_C)
        return strcmp(function->module, "seismo._core") == 0;
    return function->kind == SM_PYTHON && sm_text_lists(functions.hide, function->file);
}

static bool is_for_calibration(const sm_function *function) {
    return function->kind == SM_C ? strcmp(function->qualname, SM_CALIBRATION_IN_C) == 0
                                  : strcmp(function->file, SM_CALIBRATION) == 0;
}

static bool is_left_out(const sm_function *function) {
    if (function->hidden || functions.wants == NULL || function->kind == SM_SYNTHETIC)
        return function->hidden;
    return !functions.wants(function) && !is_for_calibration(function);
}

void sm_functions_hide(const char *files) {
    SM_CORE_GUARD;
    char *hide = files != NULL && *files != '\0' ? sm_copy_chars(files) : NULL;
    bool same = hide != NULL && functions.hide != NULL && strcmp(hide, functions.hide) == 0;
    sm_free(functions.hide);
    functions.hide = hide;
    for (uint32_t i = 0; !same && i < functions.all.count; i++) {
        sm_function *function = functions.all.records[i];
        function->hidden = is_hidden(function);
        function->left_out = is_left_out(function);
    }
}

void sm_functions_want(bool (*wants)(const sm_function *function)) {
    SM_CORE_GUARD;
    functions.narrowed = functions.wants != NULL;
    functions.wants = wants;
    for (uint32_t i = 0; (wants != NULL || functions.narrowed) && i < functions.all.count; i++) {
        sm_function *function = functions.all.records[i];
        function->left_out = is_left_out(function);
    }
}

bool sm_functions_narrowed(void) {
    return functions.narrowed;
}

/* Return the module's name from a frame's globals, borrowed, or NULL if it is unknown. */
static PyObject *module_of(PyObject *globals) {
    if (globals == NULL || !PyDict_Check(globals))
        return NULL;
    PyObject *module = PyDict_GetItemWithError(globals, name_of_module);
    return module != NULL && PyUnicode_Check(module) ? module : NULL;
}

/* Set the module of a function that was met without globals. The flush worker may be reading the old, empty name. */
static void name_module(sm_function *function, char *module) {
    __atomic_store_n(&function->module, module, __ATOMIC_RELEASE);
    function->left_out = is_left_out(function);
}

static bool same_content(const void *record, const void *content) {
    const sm_function *function = record, *wanted = content;
    SM_LOOK();
    return function->kind == wanted->kind && function->line == wanted->line && function->extra == wanted->extra &&
           strcmp(function->qualname, wanted->qualname) == 0 && strcmp(function->file, wanted->file) == 0 &&
           (wanted->kind == SM_PYTHON || strcmp(function->module, wanted->module) == 0);
}

/* Return the function with this content, made if necessary. Owns the strings; NULL means out of memory. */
static sm_function *intern(sm_function_kind kind, char *module, char *qualname, char *file, int line, uint64_t extra) {
    REGISTRY_GUARD;
    sm_function *function = NULL;
    if (module == NULL || qualname == NULL || file == NULL || !sm_interned_grow(&functions.all, 1024))
        goto done;
    uint64_t hash = sm_hash_text(SM_HASH_START ^ extra ^ (uint64_t)line, qualname);
    hash = sm_hash_text(hash ^ (uint64_t)kind, file);
    if (kind != SM_PYTHON) /* a Python function's module may be unknown at first */
        hash = sm_hash_text(hash, module);
    sm_function content = {.id = functions.all.count,
                           .kind = (uint8_t)kind,
                           .line = line,
                           .extra = extra,
                           .module = module,
                           .qualname = qualname,
                           .file = file};
    function = sm_interned_find(&functions.all, &hash, same_content, &content);
    if (function != NULL) {
        if (*function->module == '\0' && *module != '\0') {
            name_module(function, module);
            module = NULL;
        }
        goto done;
    }
    function = sm_malloc(sizeof *function);
    if (function == NULL)
        goto done;
    *function = content;
    function->hidden = is_hidden(function);
    function->left_out = is_left_out(function);
    sm_interned_add(&functions.all, hash, function);
    return function;
done:
    sm_free(module);
    sm_free(qualname);
    sm_free(file);
    return function;
}

static uint32_t flags_of_code(PyCodeObject *code) {
    if (code->co_flags & CO_ASYNC_GENERATOR)
        return SM_FUNCTION_ASYNC_GENERATOR;
    if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE))
        return SM_FUNCTION_COROUTINE;
    return code->co_flags & CO_GENERATOR ? SM_FUNCTION_GENERATOR : 0;
}

/* Return true for lambdas in files. Generated code with changing constants must not make new functions each time. */
static bool is_plain_lambda(PyCodeObject *code) {
    PyObject *file = code->co_filename;
    return PyUnicode_CompareWithASCIIString(code->co_name, "<lambda>") == 0 && PyUnicode_GET_LENGTH(file) > 0 &&
           PyUnicode_READ_CHAR(file, 0) != '<';
}

/* Return the code's function, found by its content. Owns the module. */
static sm_function *find_by_content(PyCodeObject *code, char *module) {
    PyObject *table = code->co_linetable;
    uint64_t extra_hash =
        PyBytes_Check(table) ? sm_hash_bytes(0, PyBytes_AS_STRING(table), (size_t)PyBytes_GET_SIZE(table)) : 0;
    if (is_plain_lambda(code)) { /* lambdas of one line may have equal line tables */
        Py_hash_t content = PyObject_Hash((PyObject *)code);
        if (content == -1)
            PyErr_Clear();
        extra_hash ^= (uint64_t)content;
    }
    sm_function *function = intern(SM_PYTHON, module, sm_copy_text(code->co_qualname), sm_copy_text(code->co_filename),
                                   code->co_firstlineno, extra_hash);
    if (function != NULL) {
        __atomic_fetch_or(&function->flags, flags_of_code(code), __ATOMIC_RELAXED);
        __atomic_store_n(&function->code_bytes, 2 * (uint32_t)Py_SIZE(code), __ATOMIC_RELAXED);
    }
    return function;
}

#if SM_FREE_THREADED
sm_function *sm_function_in_event(PyCodeObject *code, PyObject *globals) {
    char *module;
    bool known = sm_look_up(globals != NULL && PyDict_Check(globals) ? globals : NULL, name_of_module, &module) >= 0;
    SM_EXCEPTION_GUARD;
    sm_function *function = known ? find_by_content(code, module) : NULL;
    return function;
}
#endif

sm_function *sm_function_of_code(PyCodeObject *code, PyObject *globals) {
    SM_CORE_GUARD;
    assert(functions.ready && PyCode_Check(code));
    sm_code_entry *known = sm_code_entry_of(code);
    if (SM_LIKELY(known != NULL && known->function != NULL && *known->function->module != '\0'))
        return known->function;
    SM_EXCEPTION_GUARD; /* an unwinding frame has an exception set */
    /* No Python object may be made from here on, because the caller may be inside an allocation. */
    sm_code_entry *entry = sm_code_entry_make(code);
    sm_function *function = entry != NULL ? entry->function : NULL;
    if (function != NULL) {
        PyObject *module = SM_UNLIKELY(*function->module == '\0') ? module_of(globals) : NULL;
        char *name = module != NULL ? sm_copy_text(module) : NULL;
        if (name != NULL)
            name_module(function, name);
        goto done;
    }
    if (entry == NULL && sm_codes_held())
        goto done;
    function = find_by_content(code, sm_copy_text(module_of(globals)));
    if (function != NULL && entry != NULL)
        __atomic_store_n(&entry->function, function, __ATOMIC_RELEASE);
done:
    return function;
}

/* Return true if the function has this name, to detect that the address of a freed PyMethodDef was reused. */
static bool names(const sm_function *function, const char *name) {
    size_t whole = strlen(function->qualname), part = strlen(name);
    return whole >= part && strcmp(function->qualname + whole - part, name) == 0;
}

sm_function *sm_function_of_c(const void *key, PyObject *callable) {
    SM_CORE_GUARD;
    assert(functions.ready && key != NULL && callable != NULL);
    c_entry *entry = sm_map_find(&functions.c_functions, (uintptr_t)key, sizeof *entry);
    if (entry != NULL && names(entry->function, sm_c_method(callable)->ml_name))
        return entry->function;
    sm_exception kept = sm_exception_keep();
    char *module, *qualname;
    sm_c_name(callable, &module, &qualname);
    sm_function *function = intern(SM_C, module, qualname, sm_copy_chars(""), 0, 0);
    sm_exception_restore(kept);
    if (function == NULL)
        return NULL;
    entry = sm_map_make(&functions.c_functions, (uintptr_t)key, sizeof *entry, 512);
    if (entry == NULL)
        return NULL;
    entry->function = function;
    return function;
}

sm_function *sm_function_synthetic(const char *name) {
    SM_CORE_GUARD;
    return intern(SM_SYNTHETIC, sm_copy_chars(""), sm_copy_chars(name), sm_copy_chars(""), 0, 0);
}

uint32_t sm_functions_count(void) {
    return __atomic_load_n(&functions.all.count, __ATOMIC_RELAXED);
}

sm_function *sm_function_by_id(uint32_t id) {
    REGISTRY_GUARD;
    return id < functions.all.count ? functions.all.records[id] : NULL;
}
