/* Writes to a file without sending the program a signal. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Write as pwrite does, or write if `at` is -1, without SIGXFSZ beyond the limit of file sizes (EFBIG). */
ssize_t sm_write(int fd, const void *from, size_t size, off_t at);
