#include "options.h"

#include "class_table.h"
#include "keys.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    const char *name;
    const char *argument; /* NULL: none */
    const char *help;
} rows[] = {
    {'s', "server", "ADDRESS",
     "host, host:port, [v6]:port or /path of a UNIX socket (127.0.0.1:11211)"},
    {'d', "delay", "SECONDS", "time between refreshes, 0.1 to 3600 (1)"},
    {'b', "batch", NULL, "print plain text instead of opening the console"},
    {'n', "iterations", "N", "batch mode: how many snapshots to print (1; rates need 2)"},
    {'j', "json", NULL, "batch mode with one JSON object a line"},
    {'r', "read-only", NULL, "never send a command that changes the server"},
    {'a', "ascii", NULL, "draw with ASCII only"},
    {'m', "mono", NULL, "no colours; also when NO_COLOR is set"},
    {'D', "describe", NULL, "print the tables of options, keys and the like, tab-separated"},
    {'h', "help", NULL, "print this text"},
    {'V', "version", NULL, "print the version"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    enum exit_code code;
    const char *meaning;
} exit_rows[] = {
    {EXIT_OK, "success; also when the reader of the output has gone"},
    {EXIT_USAGE, "wrong use, or no terminal"},
    {EXIT_NO_SERVER, "no connection, in batch mode"},
    {EXIT_INTERNAL, "out of memory"},
    {EXIT_OUTPUT, "output that can't be written"},
    {EXIT_INTERRUPTED, "interrupted by a signal"},
};
enum { EXIT_ROWS = sizeof exit_rows / sizeof *exit_rows };

static void build_getopt(char letters[2 * ROWS + 2], struct option longs[ROWS + 1]) {
    size_t used = 0;
    letters[used++] = ':';
    for (int i = 0; i < ROWS; i++) {
        letters[used++] = rows[i].letter;
        if (rows[i].argument != NULL) {
            letters[used++] = ':';
        }
        longs[i] = (struct option){rows[i].name,
                                   rows[i].argument != NULL ? required_argument : no_argument, NULL,
                                   rows[i].letter};
    }
    letters[used] = '\0';
    longs[ROWS] = (struct option){0};
}

static bool parse_delay(const char *text, uint64_t *interval_ms) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(seconds) || seconds * 1000 < INTERVAL_LEAST_MS ||
        seconds * 1000 > INTERVAL_MOST_MS) {
        return false;
    }
    *interval_ms = (uint64_t)llround(seconds * 1000);
    return true;
}

static bool parse_count(const char *text, unsigned *count) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > SNAPSHOTS_MOST) {
        return false;
    }
    *count = (unsigned)value;
    return true;
}

static bool take_option(struct options *options, int letter, const char *argument,
                        const char **server, char *why, size_t why_bytes) {
    switch (letter) {
    case 's':
        *server = argument;
        return true;
    case 'd':
        if (!parse_delay(argument, &options->interval_ms)) {
            snprintf(why, why_bytes, "--delay takes seconds from 0.1 to 3600, not '%.40s'",
                     argument);
            return false;
        }
        return true;
    case 'n':
        if (!parse_count(argument, &options->snapshots)) {
            snprintf(why, why_bytes, "--iterations takes a number from 1 to %d, not '%.40s'",
                     SNAPSHOTS_MOST, argument);
            return false;
        }
        return true;
    case 'j':
        options->json = true;
        options->batch = true;
        return true;
    default:
        options->batch = options->batch || letter == 'b';
        options->read_only = options->read_only || letter == 'r';
        options->ascii = options->ascii || letter == 'a';
        options->mono = options->mono || letter == 'm';
        options->wants_tables = options->wants_tables || letter == 'D';
        options->wants_help = options->wants_help || letter == 'h';
        options->wants_version = options->wants_version || letter == 'V';
        return true;
    }
}

bool options_parse(struct options *options, int argc, char **argv, char *why, size_t why_bytes) {
    *options = (struct options){.interval_ms = 1000, .snapshots = 1};
    char letters[2 * ROWS + 2];
    struct option longs[ROWS + 1];
    build_getopt(letters, longs);
    const char *server = NULL;
    optind = 0; /* GNU: start afresh, so that tests may parse more than once */
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (letter == '?' || letter == ':') {
            snprintf(why, why_bytes,
                     letter == ':' ? "option '%.40s' needs an argument" : "unknown option '%.40s'",
                     argv[optind - 1]);
            return false;
        }
        if (!take_option(options, letter, optarg, &server, why, why_bytes)) {
            return false;
        }
    }
    if (optind < argc) {
        if (server != NULL || optind + 1 < argc) {
            snprintf(why, why_bytes, "one server at a time: '%.80s' is too many",
                     argv[server != NULL ? optind : optind + 1]);
            return false;
        }
        server = argv[optind];
    }
    return address_parse(server != NULL ? server : "127.0.0.1", &options->address, why, why_bytes);
}

static const char *option_name(int row, char out[40]) {
    snprintf(out, 40, "--%s%s%s", rows[row].name, rows[row].argument != NULL ? " " : "",
             rows[row].argument != NULL ? rows[row].argument : "");
    return out;
}

void options_help(FILE *out) {
    fprintf(out, "usage: slatetop [options] [ADDRESS]\n"
                 "A console for slated and memcached: what the slab classes do, and pages moved "
                 "between them.\n\n");
    for (int i = 0; i < ROWS; i++) {
        char name[40];
        fprintf(out, "  -%c, %-20s %s\n", rows[i].letter, option_name(i, name), rows[i].help);
    }
    fprintf(out, "\nKeys are listed by F1 or ? in the console.\n\nExit status:\n");
    for (int i = 0; i < EXIT_ROWS; i++) {
        fprintf(out, "  %3d  %s\n", (int)exit_rows[i].code, exit_rows[i].meaning);
    }
}

void options_describe(FILE *out) {
    char name[40];
    for (int i = 0; i < ROWS; i++) {
        fprintf(out, "option\t-%c, %s\t%s\n", rows[i].letter, option_name(i, name), rows[i].help);
    }
    for (unsigned i = 0; i < key_row_count; i++) {
        fprintf(out, "key\t%s\t%s\n", key_row_names(&key_rows[i], name, sizeof name),
                key_rows[i].help);
    }
    for (int i = 0; i < COLUMN_COUNT; i++) {
        fprintf(out, "column\t%s\t%s\t%s\n", class_columns[i].head, class_columns[i].name,
                class_columns[i].meaning);
    }
    for (int i = 0; i < METRIC_COUNT; i++) {
        fprintf(out, "rate\t%s\t%s\t%s\n", metric_rows[i].name, metric_rows[i].key,
                metric_rows[i].meaning);
    }
    for (int i = 0; i < EXIT_ROWS; i++) {
        fprintf(out, "exit\t%d\t%s\n", (int)exit_rows[i].code, exit_rows[i].meaning);
    }
}
