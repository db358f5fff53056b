/* The command line of slatetop. The parser, --help and the list of the man page come from one
 * table. */
#ifndef CONSOLE_APP_OPTIONS_STARTUP_OPTIONS_H
#define CONSOLE_APP_OPTIONS_STARTUP_OPTIONS_H
#include "app/options/password_file.h"
#include "draw/fleet_table.h"
#include "link/client.h"

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

enum {
    INTERVAL_LEAST_MS = 100,
    INTERVAL_MOST_MS = 3600000,
    SNAPSHOTS_MOST = 1000000,
    TLS_PATH_BYTES = 512
};

enum mouse_choice { MOUSE_AUTO /* unless over ssh */, MOUSE_ON, MOUSE_OFF };

struct options {
    unsigned server_count; /* 0 only with replay */
    const char *record, *replay; /* paths; NULL: none */
    const char *audit_log;       /* NULL: the usual place */
    char credentials[CREDENTIALS_MOST + 1]; /* "user password", "" for none */
    bool has_tls;                           /* TLS for every server */
    /* "": the environment has it */
    char tls_ca[TLS_PATH_BYTES], tls_cert[TLS_PATH_BYTES], tls_key[TLS_PATH_BYTES];
    /* options_open makes it of the members above, options_close frees it */
    struct access access;
    bool has_at;
    double at_s; /* replay: the moment to show, in seconds from the beginning */
    uint64_t interval_ms;
    unsigned snapshots; /* batch mode: how many to print */
    bool batch, json, csv, read_only, ascii, mono, no_state;
    bool has_theme; /* the options name a theme */
    unsigned theme; /* its index in cells_themes */
    enum mouse_choice mouse;
    const char *config; /* path given; NULL: the usual one, which need not exist */
    char unread[200];   /* why the usual file is unreadable, and defaults hold; else "" */
    bool wants_help, wants_version, wants_tables;
    struct address servers[SERVER_LIMIT]; /* last: the memory of unused ones stays untouched */
};

/* Reads the configuration file, then the command line, which counts for more: servers named there
 * take the place of those in the file. False with one sentence in why when either is wrong. */
bool options_parse(struct options *options, int argc, char **argv, char *why, size_t why_bytes);
/* Makes `access` of the files that the options name. The certificates are read now when a server of
 * the options speaks TLS, else at the first TLS connection to a server of a list. False with a
 * sentence in why when the files can't be used. */
bool options_open(struct options *options, char *why, size_t why_bytes);
void options_close(struct options *options);
void options_help(FILE *out);
/* The tables of options, keys, columns, rates and exit codes as tab-separated lines: kind, name,
 * (key), meaning. */
void options_describe(FILE *out);
#endif
