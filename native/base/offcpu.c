#include "base/offcpu.h"

#include <string.h>
#include <time.h>

sm_offcpu_kind sm_offcpu = SM_OFFCPU_UNTOLD;
ptrdiff_t sm_offcpu_place = 0;
uint64_t sm_offcpu_sentinel = 0;
static sm_offcpu_kind told_here = SM_OFFCPU_UNTOLD;

/* Takes our pointer away from this thread. */
static void leave(void) {
    if (sm_offcpu != SM_OFFCPU_UNTOLD && *sm_offcpu_word() == sm_offcpu_sentinel)
        *sm_offcpu_word() = 0;
}

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__linux__)

/* The C library's, where it has them. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

#define WORD_OFFSET 8 /* of rseq_cs in struct rseq, whose layout is the kernel's interface */
#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#else
#define SIGNATURE 0xd428bc00u
#endif

typedef struct { /* struct rseq_cs of the kernel's interface */
    uint32_t version, flags;
    uint64_t start, length, abort;
} descriptor;

static void never_run(void) {}

/* The kernel reads the signature right before the abort address. */
static const struct {
    uint32_t signature;
    uint32_t abort[3];
} landing = {SIGNATURE, {0}};

static descriptor nothing_to_restart __attribute__((aligned(32)));

static bool blocks_are_told(void) {
    for (int i = 0; i < 3; i++) {
        sm_offcpu_watch();
        struct timespec instant = {0, 20000};
        nanosleep(&instant, NULL);
        if (sm_offcpu_ask() == SM_OFFCPU_NO)
            return false;
    }
    return true;
}

void sm_offcpu_probe(void) {
    static bool done = false;
    if (done)
        return;
    done = true;
    if (&__rseq_size == NULL || &__rseq_offset == NULL || __rseq_size < 16)
        return;
    nothing_to_restart.start = (uint64_t)(uintptr_t)never_run;
    nothing_to_restart.length = 1;
    nothing_to_restart.abort = (uint64_t)(uintptr_t)landing.abort;
    sm_offcpu_place = __rseq_offset + WORD_OFFSET;
    sm_offcpu_sentinel = (uint64_t)(uintptr_t)&nothing_to_restart;
    if (*sm_offcpu_word() != 0)
        return; /* another library's */
    sm_offcpu = SM_OFFCPU_PREEMPTION;
    sm_offcpu_watch();
    if (sm_offcpu_ask() == SM_OFFCPU_UNKNOWN) { /* not even of this thread */
        leave();
        sm_offcpu = SM_OFFCPU_UNTOLD;
        return;
    }
    if (blocks_are_told())
        sm_offcpu = SM_OFFCPU_TOLD;
    leave();
    told_here = sm_offcpu;
}

#else

void sm_offcpu_probe(void) {}

#endif

sm_offcpu_kind sm_offcpu_limit(sm_offcpu_kind most) {
    sm_offcpu_probe();
    leave();
    return sm_offcpu = most < told_here ? most : told_here;
}
