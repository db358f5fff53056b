/* A specification: the steps of a few clients and the tuner, and all outcomes of all their orders. README.md describes the format. */
#ifndef ISOLATION_SPEC_H
#define ISOLATION_SPEC_H
#include <stdbool.h>
#include <stddef.h>

#include "explore.h"

enum { SPEC_STEPS_MAX = 64, SPEC_OUTCOMES_MAX = 64, SPEC_NAME_BYTES = 32, SPEC_TEXT_BYTES = 4096 };

struct spec_step {
    bool   send;  /* bytes to send; false: words for the tuner, or for a client `hold`, `take` or `close` */
    char  *bytes; /* terminated by a NUL, too */
    size_t n;
};

struct spec_part {
    char             name[SPEC_NAME_BYTES];
    bool             tuner;
    struct spec_step steps[SPEC_STEPS_MAX];
    unsigned         step_count;
};

struct spec {
    char             claim[256], options[256];
    unsigned         preemptions;
    unsigned         partitions;
    bool             every_index; /* the orders are played with each kind of index */
    struct spec_part setup, after, parts[ACTORS_MAX];
    unsigned         part_count;
    char            *outcomes[SPEC_OUTCOMES_MAX]; /* the expected ones */
    unsigned         outcome_count;
};

/* False: `why` has the error and its line. The caller frees the spec in either case. */
bool spec_read(struct spec *, const char *path, char *why, size_t why_bytes);
void spec_free(struct spec *);
/* Writes the outcomes into the file, in place of the old ones. False: errno. */
bool spec_write_outcomes(const char *path, char *const *outcomes, unsigned count);

/* n bytes as the format has them: escapes, and runs of a byte as {a*100}. */
void spec_show(const char *bytes, size_t n, char *to, size_t room);
#endif
