/* Drives the C writer as the recorder does, in situations that Python cannot make. argv: what to do, and a file. Prints
 * what became of it; the test reads the file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "file/writer.h"

static void add_nodes(sm_writer *w, int from, int to, int calls) {
    int64_t ints[SM_MAX_COLUMNS] = {0};
    double reals[SM_MAX_COLUMNS] = {0};
    for (int i = from; i < to; i++) {
        ints[SM_NODES_ID] = i;
        ints[SM_NODES_PARENT] = i % 100 ? i - 1 : -1;
        ints[SM_NODES_CALLS] = calls;
        ints[SM_NODES_TIMED_NS] = (int64_t)i * 7919 % 100003; /* what does not pack well */
        sm_writer_row(w, SM_NODES, ints, reals);
    }
}

static void add_base(sm_writer *w) {
    int64_t ints[SM_MAX_COLUMNS] = {0};
    sm_writer_meta(w, "{\"format\": 1}", 13);
    sm_writer_row(w, SM_PROCESSES, ints, NULL);
    sm_writer_row(w, SM_THREADS, ints, NULL);
    ints[SM_FUNCTIONS_QUALNAME] = (int64_t)sm_writer_string(w, "f", 1);
    sm_writer_row(w, SM_FUNCTIONS, ints, NULL);
}

static void limit(rlim_t size) {
    struct rlimit to = {size, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &to);
}

static void say(const char *when, sm_writer *w, int fd) {
    printf("%s error=%d behind=%d offset=%llu size=%lld\n", when, sm_writer_error(w), sm_writer_behind(w),
           (unsigned long long)sm_writer_offset(w), (long long)lseek(fd, 0, SEEK_END));
}

/* The disk is full for a while; the same nodes are updated meanwhile, over and over. */
static void full(int fd) {
    sm_writer *w = sm_writer_new(fd);
    add_base(w);
    add_nodes(w, 0, 1000, 1);
    (void)sm_writer_catch_up(w);
    say("before", w, fd);
    limit(20000);
    add_nodes(w, 0, 5000, 2);
    (void)sm_writer_catch_up(w);
    say("full", w, fd);
    for (int round = 3; round < 200; round++) {
        add_nodes(w, 0, 5000, round);
        if (round % 10 == 0)
            (void)sm_writer_catch_up(w);
    }
    say("still", w, fd);
    long pages = 0; /* now: the peak would be that of whoever started us */
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm) {
        if (fscanf(statm, "%*d %ld", &pages) != 1)
            pages = -1;
        fclose(statm);
    }
    printf("memory=%ld\n", pages * 4);
    limit(RLIM_INFINITY);
    sm_writer_finish(w);
    say("after", w, fd);
    sm_writer_free(w);
}

/* Chunks that are to be written together, of which the disk has room for the first. */
static void together(int fd) {
    static const uint8_t bytes[3000] = {1, 2, 3};
    const sm_payload payloads[] = {{bytes, 1000}, {bytes, 2000}, {bytes, 3000}};
    sm_writer *w = sm_writer_new(fd);
    add_base(w);
    (void)sm_writer_catch_up(w);
    say("before", w, fd);
    limit((rlim_t)sm_writer_offset(w) + 2000);
    size_t taken = sm_writer_append_all(w, SM_CHUNK_LONG, payloads, 3);
    size_t more = sm_writer_append_all(w, SM_CHUNK_LONG, payloads, 3);
    printf("taken=%zu more=%zu\n", taken, more);
    say("full", w, fd);
    limit(RLIM_INFINITY);
    more = sm_writer_append_all(w, SM_CHUNK_LONG, payloads, 2);
    printf("more=%zu\n", more);
    sm_writer_finish(w);
    say("after", w, fd);
    sm_writer_free(w);
}

static const char *other; /* a second file */

/* The program closes our descriptor and opens a file of its own in its place. */
static void stolen(int fd) {
    sm_writer *w = sm_writer_new(fd);
    add_base(w);
    (void)sm_writer_catch_up(w);
    close(fd);
    int theirs = open(other, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (theirs != fd)
        dup2(theirs, fd);
    if (write(fd, "precious", 8) != 8)
        return;
    add_nodes(w, 0, 10, 1);
    (void)sm_writer_catch_up(w);
    sm_writer_finish(w);
    say("stolen", w, fd);
    sm_writer_free(w);
}

/* Somebody moves the descriptor's position, and a forked child frees its copy. */
static void shared(int fd) {
    sm_writer *w = sm_writer_new(fd);
    add_base(w);
    (void)sm_writer_catch_up(w);
    lseek(fd, 3, SEEK_SET);
    add_nodes(w, 0, 10, 1);
    pid_t child = fork();
    if (child == 0) {
        sm_writer_free(w);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sm_writer_finish(w);
    say("shared", w, fd);
    sm_writer_free(w);
}

/* Many flushes of few rows, as a recorder makes them, then an end, more, and another end. */
static void flushes(int fd) {
    sm_writer *w = sm_writer_new(fd);
    add_base(w);
    for (int i = 0; i < 300; i++) {
        add_nodes(w, i, i + 3, i + 1);
        (void)sm_writer_catch_up(w);
        (void)sm_writer_catch_up(w); /* nothing to write: nothing written */
    }
    sm_writer_finish(w);
    add_nodes(w, 0, 1, 77);
    sm_writer_finish(w);
    say("flushes", w, fd);
    sm_writer_free(w);
}

/* A pipe whose reader stops for a while. */
static void piped(int fd) {
    int ends[2];
    if (pipe(ends) < 0)
        return;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    sm_writer *w = sm_writer_new(ends[1]);
    add_base(w);
    add_nodes(w, 0, 40000, 1);
    (void)sm_writer_catch_up(w);
    printf("blocked error=%d behind=%d\n", sm_writer_error(w), sm_writer_behind(w));
    for (int round = 0; round < 100; round++) {
        char buffer[65536];
        for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
            if (write(fd, buffer, (size_t)n) != n)
                return;
        }
        if (round < 50) {
            (void)sm_writer_catch_up(w);
        } else if (round == 50) {
            sm_writer_finish(w);
        }
    }
    printf("piped behind=%d\n", sm_writer_behind(w));
    sm_writer_free(w);
}

/* The n-th allocation fails, for every n: no crash, no leak, and what is in the file is whole. */
static void memory(int fd) {
    for (long n = 1;; n++) {
        if (ftruncate(fd, 0) < 0)
            return;
        lseek(fd, 0, SEEK_SET);
        sm_alloc_fail(n, n % 2 == 0);
        sm_writer *w = sm_writer_new(fd);
        if (w == NULL)
            continue;
        add_base(w);
        add_nodes(w, 0, 500, 1);
        (void)sm_writer_catch_up(w);
        add_nodes(w, 0, 40000, 2);
        (void)sm_writer_catch_up(w);
        long made = sm_alloc_fail(0, 0); /* there is memory again */
        sm_writer_finish(w);
        if (made < n) {
            say("memory", w, fd);
            sm_writer_free(w);
            return;
        }
        if (sm_writer_error(w) != ENOMEM || sm_writer_behind(w))
            printf("allocation %ld: error=%d\n", n, sm_writer_error(w));
        sm_writer_free(w);
        printf("n=%ld\n", n);
    }
}

static const struct {
    const char *name;
    void (*drive)(int fd);
} parts[] = {
    {"full", full},       {"together", together}, {"stolen", stolen}, {"shared", shared},
    {"flushes", flushes}, {"piped", piped},       {"memory", memory},
};

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN);
    other = argc > 3 ? argv[3] : "";
    for (size_t i = 0; argc > 2 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].drive(open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644));
            return 0;
        }
    }
    return 2;
}
