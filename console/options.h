/* The command line of slatetop. One table of options makes the parser, --help and the man page's
 * list. */
#ifndef CONSOLE_OPTIONS_H
#define CONSOLE_OPTIONS_H
#include "address.h"

#include <stdint.h>
#include <stdio.h>

enum exit_code {
    EXIT_OK = 0,
    EXIT_USAGE = 64,
    EXIT_NO_SERVER = 69,
    EXIT_INTERNAL = 70,
    EXIT_OUTPUT = 74,
    EXIT_INTERRUPTED = 130
};

enum { INTERVAL_LEAST_MS = 100, INTERVAL_MOST_MS = 3600000, SNAPSHOTS_MOST = 1000000 };

struct options {
    struct address address;
    uint64_t interval_ms;
    unsigned snapshots; /* batch mode: how many to print */
    bool batch, json, read_only, ascii, mono;
    bool wants_help, wants_version, wants_tables;
};

/* False with one sentence in why when the command line is wrong. */
bool options_parse(struct options *options, int argc, char **argv, char *why, size_t why_bytes);
void options_help(FILE *out);
/* The tables of options, keys, columns, rates and exit codes as tab-separated lines: kind, name,
 * (key), meaning. */
void options_describe(FILE *out);
#endif
