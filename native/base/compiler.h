/* Compiler attributes and builtins. */
#pragma once

#include <features.h>

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* For functions on the path of an event: inlined with a constant struct of functions, it makes no indirect call. */
#define SM_INLINE static inline __attribute__((always_inline))

/* Read a value once that another thread may be writing. That one writes it with SM_WRITE or SM_ADD, in one store,
 * unless a lock guards it. SM_PEEK may read it again later. ThreadSanitizer sees here that nothing else orders these.
 */
#if defined(__SANITIZE_THREAD__)
#define SM_READ(x)                                                                                                     \
    ({                                                                                                                 \
        __typeof__(({                                                                                                  \
            __auto_type sm_of = (x);                                                                                   \
            sm_of;                                                                                                     \
        })) sm_is;                                                                                                     \
        __atomic_load(&(x), &sm_is, __ATOMIC_RELAXED);                                                                 \
        sm_is;                                                                                                         \
    })
#define SM_WRITE(x, value)                                                                                             \
    ({                                                                                                                 \
        __typeof__(x) sm_new = (value);                                                                                \
        __atomic_store(&(x), &sm_new, __ATOMIC_RELAXED);                                                               \
        sm_new;                                                                                                        \
    })
#define SM_PEEK(x) SM_READ(x)
#define SM_ADD(x, more) SM_WRITE(x, (__typeof__(x))((x) + (more)))
#else
#define SM_READ(x) (*(const volatile __typeof__(x) *)&(x))
#define SM_WRITE(x, value) ((x) = (value))
#define SM_PEEK(x) (x)
#define SM_ADD(x, more) ((x) += (more))
#endif

/* Storage of a thread-local variable that events read: one instruction in glibc, which reserves space for variables of
 * libraries that are loaded later. musl reserves none, and would refuse to load the core. */
#if defined(__GLIBC__)
#define SM_FAST_TLS __thread __attribute__((tls_model("initial-exec")))
#else
#define SM_FAST_TLS __thread
#endif
