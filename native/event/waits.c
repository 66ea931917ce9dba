#include "event/waits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/offcpu.h"
#include "compat/lock.h"

static struct {
    bool ready, lock;
    uintptr_t from, below; /* of the interpreter's lock */
} told;

/* The beginning of a small file, as text. False: it cannot be read. No stream: the program's threads come by here. */
static bool read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
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

void sm_waits_init(void) {
    char text[128];
    told.ready = true;
    told.ready = sm_waits_ready_ns() >= 0;
    told.lock =
        sm_lock_place(&told.from, &told.below) && read_syscall((uint64_t)syscall(SYS_gettid), text, sizeof text);
}

const char *sm_waits_told(void) {
    static char words[32];
    if (sm_engine.clock.kind == SM_CLOCK_SIMULATED)
        return "";
    snprintf(words, sizeof words, "%s%s%s", sm_offcpu == SM_OFFCPU_TOLD ? "rseq" : "clock", told.ready ? ", ready" : "",
             told.lock ? ", lock" : "");
    return words;
}

int64_t sm_waits_ready_ns(void) {
    char text[96], *end;
    if (!told.ready || !read_text("/proc/thread-self/schedstat", text, sizeof text))
        return -1;
    (void)strtoll(text, &end, 10); /* time on the CPU */
    char *second = end;
    long long ready = strtoll(second, &end, 10);
    return end != second && ready >= 0 ? (int64_t)ready : -1;
}

void sm_waits_look(sm_thread *thread) {
    char text[256];
    uint64_t id = __atomic_load_n(&thread->looked_at, __ATOMIC_RELAXED);
    if (!told.lock || id == 0 || !read_syscall(id, text, sizeof text))
        return;
    char *end;
    long call = strtol(text, &end, 10); /* "running", or the number and the arguments in hexadecimal */
    if (end == text)
        return;
    uintptr_t address = (uintptr_t)strtoull(end, NULL, 16);
    bool lock = call == SYS_futex && address >= told.from && address < told.below;
    __atomic_fetch_add(lock ? &thread->looks_lock : &thread->looks_other, 1, __ATOMIC_RELAXED);
}
