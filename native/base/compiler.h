/* Compiler attributes and builtins. */
#pragma once

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* For functions on the path of an event: inlined with a constant struct of functions, it makes no indirect call. */
#define SM_INLINE static inline __attribute__((always_inline))

/* Read a value once that another thread may be writing. */
#define SM_READ(x) (*(const volatile __typeof__(x) *)&(x))
