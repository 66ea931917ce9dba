/* The source files of a recording, so that a reader can tell whether it looks at the same text that ran.
 *
 * A function's file is what its code object says, which may be relative, a made-up name ("<string>"), a template or a
 * member of a zip archive. Here each distinct one gets a row: the absolute path, and size, time and checksum as the
 * file is when the recording ends, -1 where it cannot be read. That is when the interpreter has long read it, but a
 * file that is edited while its program runs is rare, and one that is edited afterwards is what readers have to expect.
 *
 * Files are found by the text of their names, in a table of their own that lives as long as the call: a program's
 * functions are many and its files few. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "engine/output.h"

enum { READ_SIZE = 1 << 16, LONGEST_PATH = 4096 };

typedef struct {
    const char **names; /* borrowed from functions; open addressing, size a power of two */
    uint32_t count, size;
} file_set;

static uint64_t hash_text(const char *text) { /* FNV-1a */
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static const char **slot_of(const file_set *set, const char *name) {
    for (uint64_t i = hash_text(name);; i++) {
        const char **slot = &set->names[i & (set->size - 1)];
        if (*slot == NULL || strcmp(*slot, name) == 0)
            return slot;
    }
}

/* 1: new; 0: was there; -1: out of memory. */
static int add_name(file_set *set, const char *name) {
    if (set->count * 2 >= set->size) {
        file_set grown = {.count = set->count, .size = set->size ? set->size * 2 : 256};
        grown.names = sm_calloc(grown.size, sizeof *grown.names);
        if (grown.names == NULL)
            return -1;
        for (uint32_t i = 0; i < set->size; i++) {
            if (set->names[i] != NULL)
                *slot_of(&grown, set->names[i]) = set->names[i];
        }
        sm_free(set->names);
        *set = grown;
    }
    const char **slot = slot_of(set, name);
    if (*slot != NULL)
        return 0;
    *slot = name;
    set->count++;
    return 1;
}

/* CRC-32 of what the descriptor holds; -1: it cannot be read. */
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
    row[SM_SOURCES_FILE] = (int64_t)sm_writer_string(output->writer, name, strlen(name));
    row[SM_SOURCES_PATH] = is_name ? (int64_t)sm_writer_string(output->writer, path, strlen(path)) : 0;
    row[SM_SOURCES_SIZE] = row[SM_SOURCES_CRC] = -1;
    /* A made-up name may be that of a pipe or a device: only regular files are read. */
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
    file_set set = {0};
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
        int added = add_name(&set, function->file);
        if (added < 0)
            output->lost++;
        else if (added > 0)
            write_file(output, set.count - 1, function->file, folder, tables, block);
    }
done:
    sm_free(set.names);
    sm_free(tables);
    sm_free(block);
    errno = saved_errno;
}
