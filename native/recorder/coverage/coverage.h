/* Start and end of a recording of coverage. What it is and how it works is said in recorder/coverage/places.h. */
#ifndef SM_RECORDER_COVERAGE_COVERAGE_H
#define SM_RECORDER_COVERAGE_COVERAGE_H

#include "engine/output.h"
#include "recorder/coverage/places.h"

/* All of these with the GIL. */

struct sm_filter;
typedef struct {
    bool branch, counts, tests;
    bool apart;              /* leave out the threads that run already: engine/skipped_threads.h */
    struct sm_filter *where; /* held by the recording from here on; NULL: everything is wanted */
    const char *hide;        /* code whose file name starts with it is not wanted; "": none */
    int fd;                  /* -1: memory */
    uint64_t flush_ns;       /* 0: only when asked */
    sm_about about;          /* copied */
} sm_cover_settings;

int sm_cover_start(const sm_cover_source *source, const sm_cover_settings *settings); /* -1 with an exception */
void sm_cover_stop(const char *exit);
void sm_cover_flush(void);
void sm_cover_ahead(const char *exit); /* as sm_engine_ahead */
bool sm_cover_move(int fd);            /* as sm_engine_move */
PyObject *sm_cover_snapshot(void);     /* bytes of a .seismo file, or NULL with an exception */
int sm_cover_after_fork(int fd, const char *meta);
void sm_cover_context(const char *name); /* UTF-8; "": none */
bool sm_cover_check(void);

typedef struct {
    uint64_t functions, codes, lines, steps, branches, contexts, rearmed;
    int write_error;
} sm_cover_facts;
sm_cover_facts sm_cover_status(void);
uint64_t sm_cover_executed(void);             /* lines so far, each as often as it was executed; 0 without counts */
void sm_cover_identity(uint64_t identity[2]); /* of the file, as sm_writer_identity; left alone where there is none */

#endif
