/* The simulator's command line: its own options, and the server's, of which those that shape the
 * cache matter. The server's own rows (server/config/settings_rows.h) read the server's options, so
 * they have the same meaning here. */
#ifndef SLATE_SIMULATE_SIMULATE_OPTIONS_H
#define SLATE_SIMULATE_SIMULATE_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/automove/automove.h"
#include "evict/evict.h"
#include "server/config/options.h"
#include "simulate/simulate_sizes.h"
#include "simulate/trace_format.h"

enum {
    SIMULATE_POLICIES_MAX = 16,
    SIMULATE_GRID_MAX = 64,
    SIMULATE_WHY_BYTES = OPTIONS_WHY_BYTES
};

struct simulate_size { /* size of a cell; exactly one member is not 0 */
    uint32_t objects;
    double   share; /* share of the trace's keys */
    uint64_t memory_bytes;
};

/* Stands for the server's policy s3auto among the others: a name without functions. */
extern const struct evict_policy simulate_s3auto;

struct simulate_options {
    const char *trace;
    const struct evict_policy *policies[SIMULATE_POLICIES_MAX];
    char     automove[AUTOMOVE_NAME_BYTES];
    unsigned policy_count, size_count;
    bool     by_objects; /* all sizes are objects or shares; else all are memory */
    struct simulate_size  sizes[SIMULATE_GRID_MAX];
    struct settings settings; /* the server's, with the memory of the first size */
    struct simulate_sizes values;
    char     policy_dir[1100]; /* folder of automove modes in Lua; empty: none */
    uint32_t requests_per_s;
    bool     rate_given;       /* false: use the trace's times, if it has times */
    enum trace_format format;  /* format of the trace; TRACE_AUTO: by its contents */
    double   sample;           /* share of keys in the trace; 0: as the trace says */
    double   warmup_share;     /* of the requests that fill the caches and do not count */
    uint32_t warmup_requests;  /* instead, if warmup_share is 0 */
    bool     json;
};

/* True if --simulate is among the words. */
bool simulate_is_wanted(int argc, char **argv);

enum simulate_read { SIMULATE_RUN, SIMULATE_HELP, SIMULATE_BAD };
/* SIMULATE_BAD: `why` (SIMULATE_WHY_BYTES) holds one sentence. Borrows texts of argv, and cuts
 * lists among them apart. One thread, before any other. */
enum simulate_read simulate_options_read(int argc, char **argv, struct simulate_options *,
                                         char *why);
/* Frees the result of a read, even of a failed one. */
void               simulate_options_free(struct simulate_options *);
void               simulate_options_help(FILE *);
#endif
