/* Compiler attributes and builtins. */
#pragma once

#include <features.h>

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* For functions on the path of an event: inlined with a constant struct of functions, it makes no indirect call. */
#define SM_INLINE static inline __attribute__((always_inline))

/* Read a value once that another thread may be writing. */
#define SM_READ(x) (*(const volatile __typeof__(x) *)&(x))

/* Storage of a thread-local variable that events read: one instruction in glibc, which reserves space for variables of
 * libraries that are loaded later. musl reserves none, and would refuse to load the core. */
#if defined(__GLIBC__)
#define SM_FAST_TLS __thread __attribute__((tls_model("initial-exec")))
#else
#define SM_FAST_TLS __thread
#endif
