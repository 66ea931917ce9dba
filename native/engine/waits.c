#include "engine/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/offcpu.h"
#include "compat/lock.h"

#if defined(SYS_close_range)
#define CLOSE_RANGE SYS_close_range
#else
#define CLOSE_RANGE 436 /* on every machine */
#endif
#define OF_ITS_OWN 2u /* CLOSE_RANGE_UNSHARE */

static struct {
    bool asked, ready, lock; /* what the system answered when it was asked first */
    bool wanted;             /* else: as if it had answered nothing (tests) */
    bool missed;             /* atomic: at times it did not */
    int filtered;            /* whether system calls were filtered then */
    uintptr_t from, below;   /* of the interpreter's lock */
} kernel = {.wanted = true};

/* A program may forbid itself to open files, on pain of death. */
static bool may_open(void) {
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == kernel.filtered;
}

/* The beginning of a small file, as text. False: it cannot be read. No stream: the program's threads come by here. */
static bool read_text(const char *path, char *text, size_t size) {
    int fd = may_open() ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool read_syscall(uint64_t native_id, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%llu/syscall", (unsigned long long)native_id);
    return read_text(path, text, size);
}

static int64_t read_ready_ns(void) {
    char text[96], *end;
    if (!read_text("/proc/thread-self/schedstat", text, sizeof text))
        return -1;
    (void)strtoll(text, &end, 10); /* time on the CPU */
    char *second = end;
    long long ready = strtoll(second, &end, 10);
    return end != second && ready >= 0 ? (int64_t)ready : -1;
}

void sm_waits_init(void) {
    char text[128];
    if (kernel.asked)
        return;
    int saved = errno;
    kernel.asked = true;
    kernel.filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    kernel.ready = read_ready_ns() >= 0;
    bool looks = read_syscall((uint64_t)syscall(SYS_gettid), text, sizeof text);
    kernel.lock = looks && sm_lock_place(&kernel.from, &kernel.below);
    errno = saved;
}

void sm_waits_limit(bool wanted) {
    kernel.wanted = wanted;
    __atomic_store_n(&kernel.missed, false, __ATOMIC_RELAXED);
}

const char *sm_waits_known(void) {
    static const char *const ways[] = {
        [SM_OFFCPU_UNTOLD] = "clock", [SM_OFFCPU_PREEMPTION] = "rseq and clock", [SM_OFFCPU_TOLD] = "rseq"};
    static char words[64];
    if (sm_engine.clock.kind == SM_CLOCK_SIMULATED)
        return "";
    bool ready = kernel.wanted && kernel.ready, lock = kernel.wanted && kernel.lock;
    bool missed = (ready || lock) && __atomic_load_n(&kernel.missed, __ATOMIC_RELAXED);
    snprintf(words, sizeof words, "%s%s%s%s", ways[sm_offcpu], ready ? ", ready" : "", lock ? ", lock" : "",
             missed ? ", in part" : "");
    return words;
}

int64_t sm_waits_ready_ns(void) {
    if (!kernel.wanted || !kernel.ready)
        return -1;
    int saved = errno;
    int64_t ready = read_ready_ns();
    errno = saved;
    if (ready < 0)
        __atomic_store_n(&kernel.missed, true, __ATOMIC_RELAXED);
    return ready;
}

bool sm_waits_look_alone(void) {
    if (!kernel.wanted || !kernel.lock)
        return false;
    bool alone = may_open() && syscall(CLOSE_RANGE, 0u, ~0u, OF_ITS_OWN) == 0;
    if (!alone)
        __atomic_store_n(&kernel.missed, true, __ATOMIC_RELAXED);
    return alone;
}

void sm_waits_look(sm_thread *thread) {
    char text[256];
    uint64_t id = __atomic_load_n(&thread->looked_at, __ATOMIC_RELAXED);
    if (id == 0)
        return;
    if (!read_syscall(id, text, sizeof text)) {
        if (!may_open())
            __atomic_store_n(&kernel.missed, true, __ATOMIC_RELAXED);
        return;
    }
    char *end;
    long call = strtol(text, &end, 10); /* "running", or the number and the arguments in hexadecimal */
    if (end == text)
        return;
    uintptr_t address = (uintptr_t)strtoull(end, NULL, 16);
    bool lock = call == SYS_futex && address >= kernel.from && address < kernel.below;
    __atomic_fetch_add(lock ? &thread->looks_lock : &thread->looks_other, 1, __ATOMIC_RELAXED);
}
