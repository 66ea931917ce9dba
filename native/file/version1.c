/* Version 1 measured times by segments, from one event of a thread to the next. Some were always timed (`timed`);
 * others at random: `sampled`, each for PERIOD segments, and `young`, with weighted sums. Long ones among these were
 * found by ticks (`ticked`). The weighted sums correspond to the sampler's looks, and the squares to their
 * variances. Timed entries had no other cost, so they become `entered`. So a column of today is a sum of old ones,
 * times a factor. */
#include "file/version1.h"

#include <math.h>
#include <string.h>

#include "file/tables.h"

#define PERIOD 128.0
enum { SAMPLED_NS = 10, SAMPLED_SQ = 11 }; /* in nodes and lines: columns for PERIOD segments */
enum { COLUMNS = 33 };                     /* the most columns of any of these tables */

/* The present names of old columns, or NULL if the meaning is gone. */
static const char *const processes[COLUMNS] = {
    "id",        "pid",           "ppid",           "host",          "argv",          "interpreter",    "start_ns",
    "end_ns",    "exit",          "clock",          "source",        "python_inside", "python_outside", "c_inside",
    "c_outside", "resume_inside", "resume_outside", "clock_ns",      "cost_error",    "waits",          NULL,
    NULL,        "boot",          "boot_ns",        "unix_bound_ns",
};
/* Repeated `sampled` and `sampled_ns` were `ticked`, and later `young`. */
static const char *const nodes[COLUMNS] = {
    "id",       "parent",  "thread",     "function",   "calls",    "resumes",    "exceptions", "timed",
    "timed_ns", "sampled", "sampled_ns", "sampled_sq", "awaits",   "await_ns",   "sampled",    "sampled_ns",
    "flags",    NULL,      "wait_ns",    "wait_sq",    "ready_ns", "lock_ns",    "sampled_sq", NULL,
    "sampled",  NULL,      "sampled_ns", NULL,         NULL,       "sampled_sq",
};
/* The first `sampled` was `timed`. */
static const char *const lines[COLUMNS] = {
    "id",      "function", "line",       "hits",       "flags",    NULL,         "sampled",    "sampled_ns",
    NULL,      "sampled",  "sampled_ns", "sampled_sq", "sampled",  "sampled_ns", "inner_ns",   "inner_var",
    "awaits",  "await_ns", "wait_ns",    "wait_sq",    "ready_ns", "lock_ns",    "sampled_sq", NULL,
    "sampled", NULL,       "sampled_ns", NULL,         NULL,       "sampled_sq",
};

static int find(int table, const char *name) {
    for (int c = 0; name != NULL && c < sm_tables[table].columns; c++)
        if (strcmp(sm_tables[table].column[c].name, name) == 0)
            return c;
    return -1;
}

sm_version1_column sm_version1_find(int table, unsigned column) {
    const char *const *names = table == SM_PROCESSES ? processes
                               : table == SM_NODES   ? nodes
                               : table == SM_LINES   ? lines
                                                     : NULL;
    if (names == NULL)
        return (sm_version1_column){(int)column, -1, 1};
    bool of_times = table != SM_PROCESSES;
    double factor = of_times && column == SAMPLED_NS ? PERIOD : of_times && column == SAMPLED_SQ ? PERIOD * PERIOD : 1;
    int to = column < COLUMNS ? find(table, names[column]) : -1;
    return (sm_version1_column){to, table == SM_NODES && to == SM_NODES_TIMED ? SM_NODES_ENTERED : -1, factor};
}

void sm_version1_add(int64_t *to, bool to_real, const int64_t *values, bool real, double factor, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        double value = (double)values[i], sum;
        if (real)
            memcpy(&value, &values[i], sizeof value);
        value *= factor;
        int64_t whole = !real && factor == 1 ? values[i] : (int64_t)fmin(fmax(0, value), 9e18); /* NaN becomes 0 */
        if (to_real) {
            memcpy(&sum, &to[i], sizeof sum);
            sum += value;
            memcpy(&to[i], &sum, sizeof sum);
        } else if (__builtin_add_overflow(to[i], whole, &to[i])) {
            to[i] = INT64_MAX;
        }
    }
}
