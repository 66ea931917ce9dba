#include "clock/waits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compat/lock.h"

#if SM_FREE_THREADED
#define LOCKS "lock, stop"
#else
#define LOCKS "lock"
#endif
#if defined(SYS_close_range)
#define CLOSE_RANGE SYS_close_range
#else
#define CLOSE_RANGE 436
#endif
#define OF_ITS_OWN 2u     /* CLOSE_RANGE_UNSHARE */
#define OTHER_ARGUMENTS 6 /* five arguments and the stack pointer */
#define NEAR 4096         /* bytes of the frames of C functions between a thread's record and the system call */

/* Written before the sampler starts, except as noted. */
static struct {
    /* Set once, before anything is recorded: support of the kernel, the seccomp mode then, and the address of the GIL.
     */
    bool probed, looks, lock;
    int filtered;
    uintptr_t from, below;
    bool enabled; /* tests clear it, with the GIL and while nothing is recorded */
    bool alone;   /* the sampler's: its thread has its own table of descriptors */
    bool missed;  /* true if a look failed; atomic */
} kernel = {.enabled = true};

bool sm_waits_may_open(void) {
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == kernel.filtered;
}

/* Read a part of a file. Return the number of bytes, or a negative number. */
static ssize_t read_at(const char *path, uintptr_t offset, void *to, size_t size) {
    int fd = sm_waits_may_open() ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    if (fd < 0)
        return -1;
    ssize_t got = pread(fd, to, size, (off_t)offset);
    close(fd);
    return got;
}

static bool read_syscall(uint64_t native_id, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%llu/syscall", (unsigned long long)native_id);
    ssize_t got = read_at(path, 0, text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

void sm_waits_init(void) {
    char text[256];
    if (kernel.probed)
        return;
    kernel.probed = true;
    kernel.filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    kernel.looks = read_syscall((uint64_t)syscall(SYS_gettid), text, sizeof text);
    kernel.lock = kernel.looks && sm_lock_place(&kernel.from, &kernel.below);
}

void sm_waits_limit(bool wanted) {
    kernel.enabled = wanted;
    __atomic_store_n(&kernel.missed, false, __ATOMIC_RELAXED);
}

bool sm_waits_looks(void) {
    return kernel.enabled && kernel.looks;
}

const char *sm_waits_known(void) {
    if (!sm_waits_looks())
        return "clock";
    bool missed = __atomic_load_n(&kernel.missed, __ATOMIC_RELAXED);
    if (!kernel.lock)
        return missed ? "clock, ready, in part" : "clock, ready";
    return missed ? "clock, ready, " LOCKS ", in part" : "clock, ready, " LOCKS;
}

void sm_waits_look_alone(void) {
    kernel.alone = kernel.looks && sm_waits_may_open() && syscall(CLOSE_RANGE, 0u, ~0u, OF_ITS_OWN) == 0;
    if (!kernel.alone)
        __atomic_store_n(&kernel.missed, true, __ATOMIC_RELAXED);
}

static bool is_in_lock(uintptr_t address) {
    return address >= kernel.from && address < kernel.below;
}

#if SM_FREE_THREADED

/* Read a word of this process, which its thread may unmap meanwhile. Return 0 if it is not there. */
static uintptr_t read_word(uintptr_t address) {
    uintptr_t word;
    return read_at("/proc/self/mem", address, &word, sizeof word) == sizeof word ? word : 0;
}

/* Return what a thread waits for that sleeps in futex(). arguments: behind the first, with the stack pointer. */
static sm_wait wait_on(uintptr_t semaphore, char *arguments, uintptr_t of_world) {
    uintptr_t stack = 0, record = semaphore - SM_BEFORE_SEMAPHORE;
    for (int i = 0; i < OTHER_ARGUMENTS; i++)
        stack = (uintptr_t)strtoull(arguments, &arguments, 16);
    if (record < stack || record > stack + NEAR)
        return is_in_lock(semaphore) ? SM_WAIT_LOCK : SM_WAIT_OTHER;
    uintptr_t lock = read_word(record);
    return lock == of_world ? SM_WAIT_STOP : sm_lock_of_object(lock) || is_in_lock(lock) ? SM_WAIT_LOCK : SM_WAIT_OTHER;
}

#else

static sm_wait wait_on(uintptr_t address, char *Py_UNUSED(arguments), uintptr_t Py_UNUSED(of_world)) {
    return is_in_lock(address) ? SM_WAIT_LOCK : SM_WAIT_OTHER;
}

#endif

sm_wait sm_waits_of(uint64_t native_id, uintptr_t of_world) {
    char text[256], *end;
    if (!kernel.enabled || !kernel.alone)
        return SM_WAIT_OTHER;
    if (!read_syscall(native_id, text, sizeof text)) {
        __atomic_store_n(&kernel.missed, true, __ATOMIC_RELAXED);
        return SM_WAIT_OTHER;
    }
    long call = strtol(text, &end, 10);
    if (end == text)
        return SM_WAIT_READY;
    uintptr_t address = (uintptr_t)strtoull(end, &end, 16);
    return call == SYS_futex ? wait_on(address, end, of_world) : SM_WAIT_OTHER;
}
