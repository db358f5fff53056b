/* The command line. One table (options.c) holds every option: the table parses, prints --help, prints --describe (from which the manual's
 * list is checked) and supplies defaults. */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dist.h"
#include "popularity.h"
#include "simulate/trace_format.h"

#define OPTION_AUTO UINT64_MAX /* a number that was not given */
#define SHIFT_MAX 16
#define KEY_MAX_BYTES 250

#define VALUE_MAX_BYTES 1000000 /* the largest value that a distribution may give */

enum verb { VERB_GET, VERB_SET, VERB_DELETE };

struct shift {
    unsigned count; /* 0: sizes do not shift */
    uint64_t value_bytes[SHIFT_MAX];
};

/* Either a number of requests or a time; both 0: not given. */
struct every {
    uint64_t requests;
    double seconds;
};

struct options {
    /* server */
    const char *server;
    bool meta;
    double timeout_s;
    bool tls, tls_verify, tls_resume;
    const char *tls_ca, *tls_cert, *tls_key;
    /* connections */
    uint64_t conns, calls, threads, linger_s, send_bytes;
    double conn_rate;
    bool reconnect;
    /* requests */
    enum verb method;
    double reads_pct; /* negative: not given */
    uint64_t requests, pipeline, mget, ttl_s;
    double duration_s, rate;
    bool noreply, fill_on_miss;
    /* keys and values */
    uint64_t keys, seed;
    struct dist key_bytes, sizes;
    const char *key_prefix;
    struct popularity popularity;
    bool size_by_request;
    /* ready-made loads */
    const char *preset;
    bool insert;
    struct shift shift;
    struct every shift_every;
    /* replay */
    const char *replay;
    double scale, speed; /* speed 0: the trace's times do not count */
    uint64_t limit;
    enum trace_format trace_format;
    /* calcify */
    bool calcify;
    uint64_t phase_bytes;
    /* output */
    uint64_t verify_every; /* 1: all, 0: none, N: one value in N */
    double interval_s;
    bool json, fail_on_errors, help, version, describe;
};

/* Fills *out from the arguments. False with one sentence in `why`. Text is borrowed from argv. */
bool options_parse(int argc, char **argv, struct options *out, char *why, size_t why_bytes);

/* As options_parse does for one option: `name` without dashes, `text` NULL for a switch. */
bool option_set(struct options *o, const char *name, const char *text, char *why, size_t why_bytes);

void options_print_help(FILE *out);

/* One tab-separated row an option: name, argument, default, range, group, help. */
void options_describe(FILE *out);
#endif
