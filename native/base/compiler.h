/* What is asked of the compiler. */
#ifndef SM_BASE_COMPILER_H
#define SM_BASE_COMPILER_H

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Of what is on the way of an event: with a constant struct of functions for an argument, it becomes one straight piece
 * of code for each such struct, without an indirect call. */
#define SM_INLINE static inline __attribute__((always_inline))

/* What another thread may be writing, read once: as it is at some moment. */
#define SM_READ(x) (*(const volatile __typeof__(x) *)&(x))

#endif
