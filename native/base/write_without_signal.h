/* Writes that the program is not told of. */
#ifndef SM_BASE_WRITE_WITHOUT_SIGNAL_H
#define SM_BASE_WRITE_WITHOUT_SIGNAL_H

#include <stddef.h>
#include <sys/types.h>

/* As pwrite, or as write where `at` is -1. A write past the limit of file sizes fails with EFBIG and nothing else: the
 * system would send SIGXFSZ as well, of which a program dies, or for which it has a handler. */
ssize_t sm_write(int fd, const void *from, size_t size, off_t at);

#endif
