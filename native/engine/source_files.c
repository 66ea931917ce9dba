/* The source files of a recording, so that a reader can check whether it has the text that ran.
 *
 * A code object's file may be relative, a made-up name ("<string>"), a template or a member of a zip archive. Each
 * distinct one gets a row: the absolute path, with size, time and checksum at the recording's end, or -1. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/hash.h"
#include "base/interned.h"
#include "engine/output.h"

enum { READ_SIZE = 1 << 16, LONGEST_PATH = 4096 };

static bool same_name(const void *record, const void *name) {
    return strcmp(record, name) == 0;
}

/* Return 1 for a new name, 0 for a known one, or -1 if out of memory. */
static int add_name(sm_interned *names, char *name) {
    uint64_t key = sm_hash_text(SM_HASH_START, name);
    if (sm_interned_find(names, &key, same_name, name) != NULL)
        return 0;
    if (!sm_interned_grow(names, 128))
        return -1;
    sm_interned_add(names, key, name);
    return 1;
}

/* Return the CRC-32 of the file, or -1 if it cannot be read. */
static int64_t checksum(const sm_crc32 *tables, int fd, uint8_t *block) {
    uint32_t crc = 0;
    for (;;) {
        ssize_t got = read(fd, block, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : (int64_t)crc;
        crc = sm_crc32_update(tables, crc, block, (size_t)got);
    }
}

static void write_file(sm_output *output, uint32_t id, const char *name, const char *folder, const sm_crc32 *tables,
                       uint8_t *block) {
    char path[LONGEST_PATH] = "";
    bool is_name = name[0] != '\0' && name[0] != '<';
    const char *below = name;
    while (below[0] == '.' && below[1] == '/')
        below += 2;
    if (is_name && name[0] != '/' && folder != NULL)
        is_name = snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, below) < LONGEST_PATH;
    else if (is_name)
        is_name = snprintf(path, sizeof path, "%s", name) < LONGEST_PATH;
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_SOURCES_ID] = id;
    row[SM_SOURCES_FILE] = (int64_t)sm_output_text(output, name);
    row[SM_SOURCES_PATH] = is_name ? (int64_t)sm_output_text(output, path) : 0;
    row[SM_SOURCES_SIZE] = row[SM_SOURCES_CRC] = -1;
    /* Read only regular files, since a made-up name may be that of a pipe or a device. */
    int fd = is_name && path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    struct stat is;
    if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) {
        row[SM_SOURCES_SIZE] = is.st_size;
        row[SM_SOURCES_MTIME_NS] = (int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec;
        row[SM_SOURCES_CRC] = checksum(tables, fd, block);
    }
    if (fd >= 0)
        close(fd);
    sm_writer_row(output->writer, SM_SOURCES, row, NULL);
}

void sm_output_sources(sm_output *output, const char *folder) {
    int saved_errno = errno;
    sm_interned names = {.records = NULL};
    sm_crc32 *tables = sm_malloc(sizeof *tables);
    uint8_t *block = sm_malloc(READ_SIZE);
    if (tables == NULL || block == NULL) {
        output->lost++;
        goto done;
    }
    sm_crc32_init(tables);
    for (uint32_t id = 0; id < output->functions_size; id++) {
        const sm_function *function = output->functions[id].number != 0 ? sm_function_by_id(id) : NULL;
        if (function == NULL || function->kind != SM_PYTHON)
            continue;
        int added = add_name(&names, function->file);
        if (added < 0)
            output->lost++;
        else if (added > 0)
            write_file(output, names.count - 1, function->file, folder, tables, block);
    }
done:
    sm_interned_free(&names);
    sm_free(tables);
    sm_free(block);
    errno = saved_errno;
}
