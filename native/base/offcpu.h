/* Was this thread off the CPU since it last asked?
 *
 * The kernel tells, for nothing. A thread may register *restartable sequences* (rseq; the C library does so since glibc
 * 2.35): a word in its thread-local storage points to a descriptor of a piece of code that must not be interrupted.
 * Each time that the thread goes on after it was preempted, blocked or got a signal, the kernel looks at that word, and
 * if the thread is outside of the piece described, it clears the word: there is nothing to restart. So a thread that
 * points to a piece of code which it never runs, and still finds the pointer there, has not been interrupted in
 * between. That is a store and a load. Only where the pointer is gone need the thread's CPU clock be read, a system
 * call.
 *
 * What to mind. The descriptor must be right: a wrong signature before its abort address is a SIGSEGV. A pointer that
 * is neither ours nor NULL belongs to another user of rseq in the process (tcmalloc): then nothing is known, and ours
 * is not put over it. Kernels may come that leave the word alone when a system call blocks and the thread goes on where
 * it was; whether ours tells of blocking is tried out once (sm_offcpu_probe). What a hypervisor takes away is not seen.
 */
#ifndef SM_BASE_OFFCPU_H
#define SM_BASE_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    SM_OFFCPU_UNTOLD,     /* no rseq: only a clock can say */
    SM_OFFCPU_PREEMPTION, /* told, but not whether a system call blocked */
    SM_OFFCPU_TOLD,
} sm_offcpu_kind;

typedef enum {
    SM_OFFCPU_NO, /* certainly not; of kind SM_OFFCPU_PREEMPTION it may have blocked */
    SM_OFFCPU_YES,
    SM_OFFCPU_UNKNOWN,
} sm_offcpu_answer;

extern sm_offcpu_kind sm_offcpu;
extern ptrdiff_t sm_offcpu_place;   /* of the word, from the thread pointer */
extern uint64_t sm_offcpu_sentinel; /* the address of our descriptor */

/* Once, before any of the rest. Sleeps for an instant to see what the kernel does. */
void sm_offcpu_probe(void);

static inline volatile uint64_t *sm_offcpu_word(void) {
    char *thread = NULL;
#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(thread));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
    return (volatile uint64_t *)(thread + sm_offcpu_place);
}

/* From now on. */
static inline void sm_offcpu_watch(void) {
    if (sm_offcpu == SM_OFFCPU_UNTOLD)
        return;
    volatile uint64_t *word = sm_offcpu_word();
    if (*word == 0)
        *word = sm_offcpu_sentinel;
}

/* The same as sm_offcpu_ask() being SM_OFFCPU_NO, for who knows that the kernel tells of this thread: */
static inline bool sm_offcpu_undisturbed(void) {
    return *sm_offcpu_word() == sm_offcpu_sentinel;
}

/* Does it? After sm_offcpu_watch(). */
static inline bool sm_offcpu_tells(void) {
    return sm_offcpu == SM_OFFCPU_TOLD && ((volatile int32_t *)sm_offcpu_word())[-1] >= 0;
}

/* Has this thread been interrupted since sm_offcpu_watch()? */
static inline sm_offcpu_answer sm_offcpu_ask(void) {
    if (sm_offcpu == SM_OFFCPU_UNTOLD)
        return SM_OFFCPU_UNKNOWN;
    volatile uint64_t *place = sm_offcpu_word();
    uint64_t word = *place;
    int32_t cpu = ((volatile int32_t *)place)[-1]; /* below 0: the kernel does not know this thread's words */
    if (word == sm_offcpu_sentinel && cpu >= 0)
        return SM_OFFCPU_NO;
    return word == 0 ? SM_OFFCPU_YES : SM_OFFCPU_UNKNOWN;
}

/* For tests: less than is told here, from 0 (nothing) to 2. Returns what is told from now on. */
sm_offcpu_kind sm_offcpu_limit(sm_offcpu_kind most);

#endif
