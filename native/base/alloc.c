/* Injected failures of the allocator. */
#include "base/alloc.h"

#include "base/lookup_count.h"

#ifdef SM_TESTING
#include <stdatomic.h>

uint64_t sm_looks = 0;

static atomic_long calls;   /* calls since the last sm_alloc_fail */
static atomic_long fail_at; /* 0 for never */
static atomic_int fail_on;  /* every allocation from fail_at on fails */

bool sm_alloc_strikes(void) {
    long n = atomic_fetch_add(&calls, 1) + 1, at = atomic_load(&fail_at);
    return at != 0 && (n == at || (n > at && atomic_load(&fail_on)));
}

long sm_alloc_fail(long n, int forever) {
    long made = atomic_exchange(&calls, 0);
    atomic_store(&fail_on, forever);
    atomic_store(&fail_at, n);
    return made;
}
#else
typedef int sm_alloc_never_fails; /* ISO C requires a declaration in every translation unit */
#endif
