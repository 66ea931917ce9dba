/* Start and end of a recording of coverage, which places.h explains. */
#ifndef SM_RECORDER_COVERAGE_COVERAGE_H
#define SM_RECORDER_COVERAGE_COVERAGE_H

#include "engine/output.h"
#include "recorder/coverage/places.h"

/* All functions are called with the GIL. */

struct sm_filter;
typedef struct {
    bool branch, counts, tests;
    bool apart;              /* leave out threads that already run: engine/skipped_threads.h */
    struct sm_filter *where; /* held by the recording from here on; NULL for all code */
    const char *hide;        /* file names with this start are left out, unless "" */
    int fd;                  /* -1 for memory */
    uint64_t flush_ns;       /* 0 to flush on request only */
    sm_about about;
} sm_cover_settings;

int sm_cover_start(const sm_cover_source *source, const sm_cover_settings *settings); /* -1 with an exception */
void sm_cover_stop(const char *exit);
void sm_cover_flush(void);
void sm_cover_ahead(const char *exit);
bool sm_cover_move(int fd);
PyObject *sm_cover_snapshot(void); /* bytes of a .seismo file, or NULL with an exception */
int sm_cover_after_fork(int fd, const char *meta);
void sm_cover_context(const char *name); /* UTF-8; "" for none */
bool sm_cover_check(void);

typedef struct {
    uint64_t functions, codes, lines, steps, branches, contexts, rearmed;
    int write_error;
} sm_cover_facts;
sm_cover_facts sm_cover_status(void);
uint64_t sm_cover_executed(void);             /* hits of all lines; 0 without counts */
void sm_cover_identity(uint64_t identity[2]); /* of the file, as sm_writer_identity; unchanged if there is none */

#endif
