#include "recorder/calls/frames.h"

#include <string.h>

#include "base/alloc.h"
#include "compat/opcodes.h"
#include "recorder/calls/store.h"

#define FIRST (SM_SHADOWS_NEAR + 1) /* the bottom, and those below it that are looked at, but never found */
#define NEAR 16 /* shadows that are looked at before a frame's function is asked whether it is left out */

static const char nowhere; /* no frame's address, and no code's */

const void *sm_frames_of_c[2] = {&nowhere, &nowhere};

/* ---- memory ---- */

bool sm_shadows_reserve(sm_shadows *shadows, size_t more) {
    sm_shadow *base = shadows->bottom != NULL ? shadows->bottom - SM_SHADOWS_NEAR : NULL;
    size_t used = base != NULL ? (size_t)(shadows->top + 1 - base) : FIRST;
    size_t size = used + more + SM_SHADOWS_ROOM;
    if (size > shadows->size) {
        size_t twice = shadows->size * 2;
        size = size > twice ? size : twice;
        sm_shadow *grown = sm_realloc(base, size * sizeof *grown);
        if (grown == NULL)
            return false;
        shadows->bottom = grown + SM_SHADOWS_NEAR;
        shadows->top = grown + used - 1;
        shadows->size = size;
        for (size_t i = 0; base == NULL && i < FIRST; i++)
            grown[i] = (sm_shadow){&nowhere, 0, NULL};
    }
    shadows->countdown = SM_SHADOWS_ROOM - 1;
    return true;
}

void sm_shadows_free(sm_shadows *shadows) {
    sm_free(shadows->bottom != NULL ? shadows->bottom - SM_SHADOWS_NEAR : NULL);
    *shadows = (sm_shadows){NULL, NULL, 0, 0};
}

/* ---- looking ---- */

static bool is_left_out(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    return entry != NULL && entry->function != NULL && entry->function->left_out;
}

sm_shadow *sm_shadows_find(const sm_shadows *shadows, const sm_frame_head *frame, bool through_c) {
    int near = NEAR;
    for (sm_shadow *shadow = shadows->top; shadow > shadows->bottom; shadow--) {
        if (shadow->frame == frame && shadow->at == frame->executable)
            return shadow;
        if (through_c && shadow->frame == SM_IN_C(frame) && shadow->at == (uintptr_t)frame->instruction)
            return shadow;
        if (--near == 0 && is_left_out(sm_frame_code_of(frame)))
            return NULL;
    }
    return NULL;
}

#if SM_HAS_MONITORING
/* Is the frame a generator's that waits for another one? An exception that is thrown into it goes on to that one, and
 * links the frame into the stack without running it: nothing is told of it then. */
static bool waits(const sm_frame_head *frame, PyCodeObject *code) {
    if ((code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0)
        return false;
    int at = PyUnstable_InterpreterFrame_GetLasti((struct _PyInterpreterFrame *)(uintptr_t)frame);
    PyObject *bytes = at >= 0 ? PyCode_GetCode(code) : NULL;
    bool found = bytes != NULL && at < PyBytes_GET_SIZE(bytes) && sm_op_suspends((uint8_t)PyBytes_AS_STRING(bytes)[at]);
    if (at >= 0 && bytes == NULL)
        PyErr_Clear();
    Py_XDECREF(bytes);
    return found;
}
#else
static bool waits(const sm_frame_head *frame, PyCodeObject *code) {
    (void)frame, (void)code;
    return false;
}
#endif

/* Not a function's frame: what it runs is remembered, and never goes away. */
static void passed_by(const sm_frame_head *frame) {
    PyObject *executable = (PyObject *)(frame->executable & ~(uintptr_t)7);
    bool known = executable == NULL || sm_frame_is_c(frame);
    for (size_t i = 0; i < 2 && !known; i++) {
        if (sm_frames_of_c[i] == &nowhere) {
            sm_frames_of_c[i] = Py_NewRef(executable);
            known = true;
        }
    }
}

sm_shadow *sm_shadows_reach(const sm_shadows *shadows, const sm_frame_head *frame, sm_reach how) {
    for (; frame != NULL; frame = frame->previous) {
        PyCodeObject *code = sm_frame_code_of(frame);
        if (code == NULL) {
            passed_by(frame);
            how.through_c = true;
            continue;
        }
        bool passed = how.thrown && waits(frame, code);
        sm_shadow *shadow = passed ? NULL : sm_shadows_find(shadows, frame, how.through_c);
        if (shadow != NULL)
            return shadow;
        if (!passed && !how.unknown && !is_left_out(code))
            return NULL;
        how.through_c = passed; /* by throw(), which is a C function */
    }
    return shadows->bottom;
}

static const sm_frame_head *running(const sm_thread *thread) {
    return thread->ended || thread->tstate == &sm_no_tstate ? NULL : sm_tstate_frame(thread->tstate);
}

void sm_shadows_settle(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (!sm_from_starts(tree))
        return;
    sm_reach how = {.through_c = true, .unknown = true};
    tree->shadows.top = sm_shadows_reach(&tree->shadows, running(thread), how);
    tree->node = tree->shadows.top->node;
}

bool sm_shadows_follow(sm_thread *thread, bool entering) {
    const sm_tree_thread *tree = sm_tree_of(thread);
    const sm_frame_head *frame = sm_from_starts(tree) ? running(thread) : NULL;
    if (entering && frame != NULL)
        frame = frame->previous;
    const sm_shadow *shadow = frame != NULL ? sm_shadows_reach(&tree->shadows, frame, (sm_reach){0}) : NULL;
    return shadow != NULL && shadow != tree->shadows.bottom;
}

/* ---- after a walk ---- */

static bool is_c(const sm_node *node) {
    return sm_rest(node)->function->function->kind == SM_C;
}

static void push(sm_shadows *shadows, const void *frame, uintptr_t at, sm_node *node) {
    *++shadows->top = (sm_shadow){frame, at, node};
}

/* The thread's path, outermost first; owned by the caller. NULL: out of memory, or it is empty. */
static sm_node **path_to(sm_node *end, size_t *length) {
    *length = 0;
    for (const sm_node *node = end; node->parent != NULL; node = node->parent)
        ++*length;
    sm_node **path = *length > 0 ? sm_malloc(*length * sizeof *path) : NULL;
    size_t left = path != NULL ? *length : 0;
    *length = left;
    for (sm_node *node = end; left > 0; node = node->parent)
        path[--left] = node;
    return path;
}

void sm_shadows_rebuild(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_shadows *shadows = &tree->shadows;
    shadows->top = shadows->bottom;
    if (!sm_shadows_reserve(shadows, 2 * count)) {
        sm_engine.lost_memory++;
        return;
    }
    shadows->bottom->node = tree->root;
    size_t length, at = 0;
    sm_node **path = path_to(tree->node, &length);
    for (size_t i = 0; i < count; i++) {
        const sm_frame_head *frame = frames[i].frame;
        if (is_left_out(frames[i].code))
            continue;
        if (i >= below && at < length)
            at++;
        sm_node *node = at > 0 ? path[at - 1] : tree->root;
        push(shadows, frame, frame->executable, node);
        for (; i >= below && at < length && is_c(path[at]); at++)
            push(shadows, SM_IN_C(frame), (uintptr_t)frame->instruction, path[at]);
    }
    sm_free(path);
}
