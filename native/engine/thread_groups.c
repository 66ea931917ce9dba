/* A server may start a thread per request for weeks. To bound memory, threads are *folded* once SM_THREADS_APART
 * threads have ended with rows and trees of their own, or fewer whose trees take SM_THREADS_KEEP bytes. Then new
 * threads share the row and tree of a group: of their name, without numbers ("Thread-* (work)"), and of what began
 * them.
 *
 * A group is a record without a thread, the `home` of its threads. Their paths are shared, which the GIL allows:
 * without it, threads are not folded. Counts stay exact; times are summed. Folding at the end of a thread would need a
 * way to revoke rows in the file. The price is that a thread that begins late and lives long is folded, too.
 *
 * After MOST_GROUPS groups the name is left out, and later the entry, too. A group's row gets its number at the first
 * save, when some thread is in it for good. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "engine/threads.h"

#define MOST_GROUPS 256
#define PLACES 2048

static struct {
    /* Guard: the engine's lock. */
    sm_thread *places[PLACES]; /* by name and entry; no map (base/map.h), as it has a fixed size */
    uint32_t count;
} groups;

bool sm_thread_folds(void) {
    return !SM_FREE_THREADED && (sm_engine.finished >= SM_THREADS_APART || sm_engine.kept >= SM_THREADS_KEEP);
}

static sm_thread **place_of(const char *pattern, const char *entry) {
    for (uint64_t i = sm_hash_text(sm_hash_text(SM_HASH_START, pattern), entry) >> 32;; i++) {
        sm_thread **place = &groups.places[i % PLACES];
        if (*place == NULL || (strcmp((*place)->name, pattern) == 0 && strcmp((*place)->entry, entry) == 0))
            return place;
    }
}

static sm_thread *new_group(const char *pattern, const char *entry, const sm_thread *first) {
    sm_thread *group = sm_thread_new_record();
    if (group == NULL)
        return NULL;
    group->tstate = &sm_no_tstate;
    group->id = UINT32_MAX;
    group->ended = group->cleared = group->unreachable = true;
    group->home = group;
    group->is_group = true;
    group->start_ns = group->end_ns = first->start_ns;
    strcpy(group->name, pattern);
    strcpy(group->entry, entry);
    if (!sm_thread_enter(group))
        return NULL; /* freed with the recording */
    group->session = sm_engine.session;
    return group;
}

static sm_thread *group_of(const sm_thread *thread) {
    char pattern[sizeof thread->name];
    const char *entry = thread->entry;
    sm_thread_pattern(pattern, thread->name, sizeof pattern);
    sm_thread **place = place_of(pattern, entry);
    if (*place == NULL && groups.count >= MOST_GROUPS)
        place = place_of(strcpy(pattern, "*"), entry);
    if (*place == NULL && groups.count >= 2 * MOST_GROUPS)
        place = place_of(pattern, entry = "");
    if (*place == NULL && (*place = new_group(pattern, entry, thread)) != NULL)
        groups.count++;
    return *place;
}

bool sm_thread_fold(sm_thread *thread) {
    sm_thread *group = group_of(thread);
    if (group == NULL) {
        sm_main.lost_memory++;
        return false;
    }
    thread->home = group;
    group->folded++;
    return true;
}

void sm_thread_add_to_group(sm_thread *thread) {
    sm_thread *group = thread->home;
    group->group_wall += (int64_t)sm_ticks_since(thread->start_ticks, thread->end_ticks);
    if (thread->cpu_ns < 0)
        group->group_cpu = -1;
    else if (group->group_cpu >= 0)
        group->group_cpu += thread->cpu_ns;
    group->rest_ticks += thread->rest_ticks;
    if (thread->end_ns > group->end_ns)
        group->end_ns = thread->end_ns;
    thread->start_ticks = thread->end_ticks;
    thread->cpu_start_ns += thread->cpu_ns > 0 ? thread->cpu_ns : 0;
    thread->cpu_ns = thread->cpu_ns > 0 ? 0 : thread->cpu_ns;
    thread->rest_ticks = 0;
    thread->grouped = true;
}

uint32_t sm_thread_row(sm_thread *home) {
    if (home->id == UINT32_MAX)
        home->id = sm_engine.thread_count++;
    return home->id;
}

void sm_threads_sum(uint64_t now) {
    SM_EACH_THREAD (group) {
        if (!group->is_group)
            continue;
        if (group->folded > 0)
            (void)sm_thread_row(group);
        group->running_wall = group->running_cpu = 0;
        group->running_rest = 0;
        group->runs = false;
    }
    SM_EACH_THREAD (thread) {
        sm_thread *group = thread->home;
        if (group == thread || thread->grouped)
            continue;
        uint64_t end = thread->end_ns ? thread->end_ticks : now;
        group->running_wall += (int64_t)sm_ticks_since(thread->start_ticks, end);
        group->running_cpu += thread->cpu_ns > 0 ? thread->cpu_ns : 0;
        group->running_rest += thread->rest_ticks;
        group->runs = true;
    }
}

const char *sm_group_name(const sm_thread *group, char *text, size_t room) {
    const char *pattern = group->name[0] ? group->name : "*";
    if (group->entry[0] == '\0' || strstr(pattern, " (") != NULL)
        return pattern;
    snprintf(text, room, "%s (%s)", pattern, group->entry);
    return text;
}

void sm_groups_forget(void) {
    memset(&groups, 0, sizeof groups);
}
