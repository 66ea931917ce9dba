/* Find the costs of the probes: known in this process, from an earlier one, or measured now (calibrate.c).
 *
 * Measuring takes longer than many programs run, so the results are in $XDG_CACHE_HOME/seismo/costs or
 * ~/.cache/seismo/costs. A line has a key and the costs in picoseconds; the newest is last. The key is a hash of all
 * that they depend on. A file that is damaged, or cannot be read or written, is ignored. It is replaced by renaming. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/hash.h"
#include "base/time.h"
#include "clock/waits.h"
#include "engine/engine.h"

#ifndef SM_BUILD
#define SM_BUILD __DATE__ __TIME__ /* of this file alone; setup.py has a hash of all */
#endif

#define LINES 64
#define NUMBERS 9
#define LINE 256
#define MOST_NS 100e3 /* a larger cost is invalid */

static uint64_t hash_number(uint64_t hash, int number) {
    char text[16];
    snprintf(text, sizeof text, "/%d", number);
    return sm_hash_text(hash, text);
}

static uint64_t hash_processor(uint64_t hash) {
#if defined(__x86_64__) || defined(__i386__)
    unsigned words[4];
    char text[sizeof words + 1] = "";
    for (unsigned leaf = 0x80000002; leaf <= 0x80000004; leaf++) {
        if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) != 0)
            memcpy(text, words, sizeof words);
        hash = sm_hash_text(hash, text);
    }
#endif
    return hash;
}

static uint64_t key(void) {
    const sm_settings *settings = &sm_main.settings;
    (void)sm_moment_now();
    uint64_t hash = hash_processor(sm_hash_text(SM_HASH_START, sm_boot_id()));
    hash = sm_hash_text(sm_hash_text(hash, Py_GetVersion()), SM_BUILD);
    hash = sm_hash_text(sm_hash_text(hash, sm_main.pairs[0].source->name), sm_main.pairs[0].recorder->name);
    hash = sm_hash_text(sm_hash_text(hash, settings->c_functions), settings->narrow ? "narrow" : "all");
    hash = hash_number(hash_number(hash, (int)sm_engine.clock.kind), settings->journal);
    return hash_number(hash, settings->timing == SM_TIMING_EVERY);
}

/* Find the path of the file, or (beside) of a new one, with its folders. Return false if there is no place for it. */
static bool find_path(char *path, size_t size, bool beside) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[4096];
    bool own = cache != NULL && cache[0] == '/';
    if ((!own && (home == NULL || home[0] != '/')) || !sm_waits_may_open())
        return false;
    int length =
        own ? snprintf(folder, sizeof folder, "%s", cache) : snprintf(folder, sizeof folder, "%s/.cache", home);
    if (length < 0 || (size_t)length + sizeof "/seismo/costs.0123456789" > sizeof folder)
        return false;
    if (beside)
        (void)mkdir(folder, 0700);
    strcat(folder, "/seismo");
    if (beside && mkdir(folder, 0700) != 0 && errno != EEXIST)
        return false;
    return (size_t)(beside ? snprintf(path, size, "%s/costs.%ld", folder, (long)getpid())
                           : snprintf(path, size, "%s/costs", folder)) < size;
}

static size_t read_file(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat facts;
    bool plain = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size < (off_t)size;
    ssize_t got = plain ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return strlen(text);
}

static bool parse(const char *line, uint64_t *key, double ns[NUMBERS]) {
    char *end;
    *key = strtoull(line, &end, 16);
    for (int i = 0; i < NUMBERS; i++) {
        const char *from = end;
        ns[i] = (double)strtoull(from, &end, 10) / 1000;
        if (end == from || ns[i] > MOST_NS)
            return false;
    }
    return *end == '\n';
}

static bool find_in_file(uint64_t wanted, double ns[NUMBERS]) {
    char path[4200], text[LINES * LINE];
    if (!find_path(path, sizeof path, false) || read_file(path, text, sizeof text) == 0)
        return false;
    for (const char *line = text, *next; *line != '\0'; line = next) {
        const char *end = strchr(line, '\n');
        next = end != NULL ? end + 1 : line + strlen(line);
        uint64_t found;
        if (parse(line, &found, ns) && found == wanted)
            return true;
    }
    return false;
}

/* Return the beginning of the last `count` lines of a text. */
static const char *last_lines(const char *text, size_t size, int count) {
    const char *at = text + size;
    while (at > text && (at[-1] != '\n' || at == text + size || --count > 0))
        at--;
    return at;
}

static void put_into_file(uint64_t key, const double ns[NUMBERS]) {
    char path[4200], fresh[4200], text[LINES * LINE], line[LINE];
    if (!find_path(path, sizeof path, false) || !find_path(fresh, sizeof fresh, true))
        return;
    size_t size = read_file(path, text, sizeof text), length = (size_t)snprintf(line, sizeof line, "%016llx", //
                                                                                (unsigned long long)key);
    for (int i = 0; i < NUMBERS; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, " %llu", (unsigned long long)(ns[i] * 1000));
    line[length++] = '\n';
    const char *kept = size > 0 && text[size - 1] == '\n' ? last_lines(text, size, LINES - 1) : text + size;
    size_t rest = strlen(kept);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    bool written = write(fd, kept, rest) == (ssize_t)rest && write(fd, line, length) == (ssize_t)length;
    if (close(fd) != 0 || !written || rename(fresh, path) != 0)
        (void)unlink(fresh);
}

static void put(const sm_probe_costs *costs, double ns[NUMBERS]) {
    const double ticks[NUMBERS - 1] = {costs->python.inside, costs->python.outside, costs->c.inside, costs->c.outside,
                                       costs->resume.inside, costs->resume.outside, costs->piece,    costs->deep};
    for (int i = 0; i < NUMBERS - 1; i++)
        ns[i] = sm_clock_ns(&sm_engine.clock, ticks[i]);
    ns[NUMBERS - 1] = costs->error;
}

static void take(sm_probe_costs *costs, const double ns[NUMBERS]) {
    double ticks[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        ticks[i] = ns[i] / sm_engine.clock.ns_per_tick;
    *costs =
        (sm_probe_costs){{ticks[0], ticks[1]}, {ticks[2], ticks[3]}, {ticks[4], ticks[5]}, ticks[6], ticks[7], ns[8]};
}

int sm_engine_find_costs(int (*rehearse)(bool on)) {
    static uint64_t known_key; /* guard of both: the GIL */
    static sm_probe_costs known;
    if (!sm_engine_keeps_time())
        return 0;
    uint64_t wanted = key();
    double ns[NUMBERS];
    bool sound = true;
    int saved_errno = errno;
    if (wanted == known_key) {
        sm_engine.costs = known;
        return 0;
    }
    if (find_in_file(wanted, ns)) {
        take(&sm_engine.costs, ns);
    } else if (sm_engine_calibrate(rehearse, &sound) < 0) {
        return -1;
    } else if (sound) {
        put(&sm_engine.costs, ns);
        put_into_file(wanted, ns);
    }
    errno = saved_errno;
    if (!sound) /* the next recording measures again */
        return 0;
    known_key = wanted;
    known = sm_engine.costs;
    return 0;
}
