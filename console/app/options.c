#include "app/options.h"

#include "app/address_word.h"
#include "app/server_names.h"
#include "app/settings_file.h"
#include "brain/lua_outside.h"
#include "draw/class_columns.h"
#include "draw/keys.h"
#include "draw/term.h"
#include "facts/plain.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    const char *name;
    const char *argument; /* NULL: none */
    const char *help;
    bool in_file; /* also a setting of the configuration file */
} rows[] = {
    {'s', "server", "ADDRESS",
     "host, host:port, [v6]:port, tls://host:port, /path of a UNIX socket; dns:name:port "
     "or file:path for several servers; or a name in ~/.config/slate/servers (127.0.0.1:11211); "
     "may be given often",
     true},
    {'d', "delay", "SECONDS", "time between refreshes, 0.1 to 3600 (1)", true},
    {'b', "batch", NULL, "print plain text instead of opening the console", false},
    {'n', "iterations", "N", "batch mode: how many snapshots to print (1)", false},
    {'j', "json", NULL, "batch mode with one JSON object a line", false},
    {'v', "csv", NULL, "batch mode with the table of classes as comma-separated values", false},
    {'w', "record", "FILE", "append every snapshot to a recording, as slatectl does", false},
    {'p', "replay", "FILE", "show a recording in place of a server", false},
    {'t', "at", "SECONDS", "replay: begin paused, this many seconds after the beginning", false},
    {'l', "audit-log", "FILE",
     "the record of changes ($SLATE_AUDIT, $XDG_STATE_HOME/slate/audit.log, or below "
     "~/.local/state)",
     false},
    {'P', "password-file", "FILE", "log in with the user:password in the first line of the file",
     true},
    {'S', "tls", NULL, "speak TLS with every server, as with tls:// before its name", true},
    {'A', "tls-ca", "FILE", "certificates to trust ($SLATE_TLS_CA, or the system's)", true},
    {'E', "tls-cert", "FILE",
     "client certificate, for a server that asks for one ($SLATE_TLS_CERT)", true},
    {'K', "tls-key", "FILE",
     "key of the client certificate ($SLATE_TLS_KEY, or in the file of the certificate)", true},
    {'r', "read-only", NULL, "never send a command that changes the server", true},
    {'a', "ascii", NULL, "draw with ASCII only", true},
    {'m', "mono", NULL, "no colours; also when NO_COLOR is set", true},
    {'C', "theme", "NAME", "default, light, colour-blind, high-contrast or mono", true},
    {'M', "mouse", "WHEN", "yes, no, or auto: not over ssh (auto)", true},
    {'N', "no-state", NULL,
     "begin with the defaults, not with the state of the last run, and keep no state", true},
    {'c', "config", "FILE", "settings to read in place of the usual file", false},
    {'D', "describe", NULL,
     "print the tables of options, keys, columns and exit codes, tab-separated", false},
    {'h', "help", NULL, "print this text", false},
    {'V', "version", NULL, "print the version", false},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    enum exit_code code;
    const char *meaning;
} exit_rows[] = {
    {EXIT_OK, "success; also when the reader of the output has gone"},
    {EXIT_USAGE, "wrong use, or no terminal"},
    {EXIT_NO_SERVER, "no connection to a server, in batch mode; the others are printed"},
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

static bool parse_seconds(const char *text, double least, double most, double *seconds) {
    char *end;
    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds >= least && *seconds <= most;
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

static bool add_address(struct options *options, const char *text, char *why, size_t why_bytes) {
    if (options->server_count == SERVER_LIMIT) {
        snprintf(why, why_bytes, "at most %d servers: '%.80s' is too many", SERVER_LIMIT, text);
        return false;
    }
    return address_parse(text, &options->servers[options->server_count++], why, why_bytes);
}

static bool add_server(struct options *options, const char *text, char *why, size_t why_bytes);

/* Several with commas between them, as slatectl takes them; a path may hold commas. */
static bool add_list(struct options *options, const char *text, char *why, size_t why_bytes) {
    char list[SERVER_NAMES_MOST_BYTES], *rest = list;
    if ((size_t)snprintf(list, sizeof list, "%s", text) >= sizeof list) {
        snprintf(why, why_bytes, "the list of servers has more than %zu bytes", sizeof list - 1);
        return false;
    }
    for (char *one; (one = strsep(&rest, ",")) != NULL;) {
        if (one[0] == '\0') {
            snprintf(why, why_bytes, "an address is missing in '%.80s'", text);
            return false;
        }
        if (!add_server(options, one, why, why_bytes)) {
            return false;
        }
    }
    return true;
}

/* An address, or the name of one or several. */
static bool add_server(struct options *options, const char *text, char *why, size_t why_bytes) {
    char addresses[SERVER_NAMES_MOST_BYTES], *rest = addresses;
    if (strchr(text, ',') != NULL && strchr(text, '/') == NULL) {
        return add_list(options, text, why, why_bytes);
    }
    if (!server_names_resolve(text, addresses, why, why_bytes)) {
        return false;
    }
    bool is_named = strcmp(addresses, text) != 0;
    if (!is_named) {
        return add_address(options, text, why, why_bytes);
    }
    for (char *address; (address = strsep(&rest, ", \t")) != NULL;) {
        if (address[0] != '\0' && !add_address(options, address, why, why_bytes)) {
            return false;
        }
    }
    return true;
}

static bool parse_theme(const char *name, unsigned *theme, char *why, size_t why_bytes) {
    for (*theme = 0; *theme < THEME_COUNT; ++*theme) {
        if (strcmp(theme_names[*theme], name) == 0) {
            return true;
        }
    }
    *theme = 0;
    snprintf(why, why_bytes,
             "there is no theme '%.40s': default, light, colour-blind, high-contrast, mono", name);
    return false;
}

static const char *const mouse_words[] = {"auto", "yes", "no"};
enum { MOUSE_WORDS = sizeof mouse_words / sizeof *mouse_words };

static bool parse_mouse(const char *word, enum mouse_choice *mouse, char *why, size_t why_bytes) {
    for (int i = 0; i < MOUSE_WORDS; i++) {
        if (strcmp(mouse_words[i], word) == 0) {
            *mouse = (enum mouse_choice)i;
            return true;
        }
    }
    snprintf(why, why_bytes, "mouse is yes, no or auto, not '%.40s'", word);
    return false;
}

static bool take_path(char out[TLS_PATH_BYTES], const char *path, char *why, size_t why_bytes) {
    if (path[0] == '\0' || strlen(path) >= TLS_PATH_BYTES) {
        snprintf(why, why_bytes, "'%.40s' is no path of a certificate or key", path);
        return false;
    }
    snprintf(out, TLS_PATH_BYTES, "%s", path);
    return true;
}

static bool take_option(struct options *options, int letter, const char *argument, char *why,
                        size_t why_bytes) {
    double seconds;
    switch (letter) {
    case 's':
        return add_server(options, argument, why, why_bytes);
    case 'C':
        options->has_theme = true;
        return parse_theme(argument, &options->theme, why, why_bytes);
    case 'M':
        return parse_mouse(argument, &options->mouse, why, why_bytes);
    case 'P':
        return password_file_read(argument, options->credentials, why, why_bytes);
    case 'A':
        return take_path(options->tls_ca, argument, why, why_bytes);
    case 'E':
        return take_path(options->tls_cert, argument, why, why_bytes);
    case 'K':
        return take_path(options->tls_key, argument, why, why_bytes);
    case 'c':
        options->config = argument;
        return true;
    case 'w':
        options->record = argument;
        return true;
    case 'l':
        options->audit_log = argument;
        return true;
    case 'p':
        options->replay = argument;
        return true;
    case 't':
        options->has_at = true;
        if (!parse_seconds(argument, 0, 1e9, &options->at_s)) {
            snprintf(why, why_bytes, "--at takes seconds from the beginning, not '%.40s'",
                     argument);
            return false;
        }
        return true;
    case 'd':
        if (!parse_seconds(argument, INTERVAL_LEAST_MS / 1000.0, INTERVAL_MOST_MS / 1000.0,
                           &seconds)) {
            snprintf(why, why_bytes, "--delay takes seconds from 0.1 to 3600, not '%.40s'",
                     argument);
            return false;
        }
        options->interval_ms = (uint64_t)llround(seconds * 1000);
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
    case 'v':
        options->csv = true;
        options->batch = true;
        return true;
    default:
        options->batch = options->batch || letter == 'b';
        options->has_tls = options->has_tls || letter == 'S';
        options->read_only = options->read_only || letter == 'r';
        options->ascii = options->ascii || letter == 'a';
        options->mono = options->mono || letter == 'm';
        options->no_state = options->no_state || letter == 'N';
        options->wants_tables = options->wants_tables || letter == 'D';
        options->wants_help = options->wants_help || letter == 'h';
        options->wants_version = options->wants_version || letter == 'V';
        return true;
    }
}

/* What each option allows and the others do not. */
static bool check_together(struct options *options, char *why, size_t why_bytes) {
    if (options->replay != NULL && (options->server_count > 0 || options->record != NULL)) {
        snprintf(why, why_bytes, "--replay takes no server and records nothing");
        return false;
    }
    if (options->json && options->csv) {
        snprintf(why, why_bytes, "--json and --csv exclude each other");
        return false;
    }
    if (options->has_at && options->replay == NULL) {
        snprintf(why, why_bytes, "--at needs --replay");
        return false;
    }
    if (options->replay == NULL && options->server_count == 0 &&
        !add_address(options, "127.0.0.1", why, why_bytes)) {
        return false;
    }
    for (unsigned i = 0; options->has_tls && i < options->server_count; i++) {
        if (!address_make_tls(&options->servers[i], why, why_bytes)) {
            return false;
        }
    }
    bool is_many = options->server_count > 1 ||
                   (options->server_count == 1 && options->servers[0].list != NO_LIST);
    if (options->record != NULL && is_many) {
        snprintf(why, why_bytes, "--record takes one server, so that a recording is about one");
        return false;
    }
    return true;
}

/* A setting of the file, by the name of its long option; a switch takes yes or no. */
static bool take_setting(void *taker, const char *name, const char *value, char *why,
                         size_t why_bytes) {
    struct options *options = taker;
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i].in_file || strcmp(rows[i].name, name) != 0) {
            continue;
        }
        if (rows[i].argument != NULL) {
            return take_option(options, rows[i].letter, value, why, why_bytes);
        }
        if (strcmp(value, "yes") == 0) {
            return take_option(options, rows[i].letter, NULL, why, why_bytes);
        }
        if (strcmp(value, "no") == 0) {
            return true; /* as it is without the setting */
        }
        snprintf(why, why_bytes, "%s is yes or no, not '%.40s'", name, value);
        return false;
    }
    snprintf(why, why_bytes, "there is no setting '%.40s'; man slatetop lists them", name);
    return false;
}

/* The path in --config, so that its file is read before the other options. */
static const char *config_path(int argc, char **argv, const char *letters,
                               const struct option *longs) {
    const char *path = NULL;
    optind = 0; /* GNU: start afresh, so that tests may parse more than once */
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        path = letter == 'c' ? optarg : path;
    }
    return path;
}

bool options_read_file(struct options *options, const char *path, char *why, size_t why_bytes) {
    return settings_file_read(path, true, take_setting, options, why, why_bytes) == SETTINGS_TAKEN;
}

static bool read_config(struct options *options, const char *path, char *why, size_t why_bytes) {
    char usual[4096];
    if (path != NULL) {
        return options_read_file(options, path, why, why_bytes);
    }
    if (!lua_outside_place("options", usual, sizeof usual)) {
        return true;
    }
    enum settings_read got =
        settings_file_read(usual, false, take_setting, options, why, why_bytes);
    if (got == SETTINGS_UNREADABLE) {
        snprintf(options->unread, sizeof options->unread, "%s: starting with the defaults", why);
        plain_make(options->unread);
    }
    return got != SETTINGS_WRONG;
}

static bool read_words(struct options *options, int argc, char **argv, const char *letters,
                       const struct option *longs, char *why, size_t why_bytes) {
    optind = 0;
    for (int letter; (letter = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (letter == '?' || letter == ':') {
            snprintf(why, why_bytes,
                     letter == ':' ? "option '%.40s' needs an argument" : "unknown option '%.40s'",
                     argv[optind - 1]);
            return false;
        }
        if (!take_option(options, letter, optarg, why, why_bytes)) {
            return false;
        }
    }
    for (; optind < argc; optind++) {
        if (!add_server(options, argv[optind], why, why_bytes)) {
            return false;
        }
    }
    return true;
}

bool options_parse(struct options *options, int argc, char **argv, char *why, size_t why_bytes) {
    static struct address of_file[SERVER_LIMIT]; /* 70 kB: too large for a stack frame */
    memset(options, 0, offsetof(struct options, servers));
    options->interval_ms = 1000;
    options->snapshots = 1;
    char letters[2 * ROWS + 2];
    struct option longs[ROWS + 1];
    build_getopt(letters, longs);
    if (!read_config(options, config_path(argc, argv, letters, longs), why, why_bytes)) {
        return false;
    }
    unsigned in_file = options->server_count;
    memcpy(of_file, options->servers, in_file * sizeof *of_file);
    options->server_count = 0;
    if (!read_words(options, argc, argv, letters, longs, why, why_bytes)) {
        return false;
    }
    if (options->server_count == 0 && options->replay == NULL) {
        memcpy(options->servers, of_file, in_file * sizeof *of_file);
        options->server_count = in_file;
    }
    return check_together(options, why, why_bytes);
}

static const char *option_name(int row, char out[40]) {
    snprintf(out, 40, "--%s%s%s", rows[row].name, rows[row].argument != NULL ? " " : "",
             rows[row].argument != NULL ? rows[row].argument : "");
    return out;
}

/* A text from a column on, in lines of 80 columns. */
static void print_wrapped(FILE *out, int column, const char *text) {
    enum { WIDTH = 80 };
    for (int x = column; *text != '\0'; text += strspn(text, " ")) {
        int word = (int)strcspn(text, " ");
        if (x > column && x + 1 + word > WIDTH) {
            fprintf(out, "\n%*s", column, "");
            x = column;
        }
        x += fprintf(out, "%s%.*s", x > column ? " " : "", word, text);
        text += word;
    }
    fputc('\n', out);
}

void options_help(FILE *out) {
    enum { HELP_COLUMN = 27 };
    fprintf(out, "usage: slatetop [options] [ADDRESS ...]\n"
                 "A console for slated and memcached: shows slab classes and moves pages.\n\n");
    for (int i = 0; i < ROWS; i++) {
        char name[40];
        fprintf(out, "  -%c, %-20s ", rows[i].letter, option_name(i, name));
        print_wrapped(out, HELP_COLUMN, rows[i].help);
    }
    fprintf(out,
            "\nIn the console F1 lists the keys, and ? explains the figures.\n\nExit status:\n");
    for (int i = 0; i < EXIT_ROWS; i++) {
        fprintf(out, "  %3d  %s\n", (int)exit_rows[i].code, exit_rows[i].meaning);
    }
}

void options_describe(FILE *out) {
    char name[40];
    for (int i = 0; i < ROWS; i++) {
        fprintf(out, "option\t-%c, %s\t%s\n", rows[i].letter, option_name(i, name), rows[i].help);
    }
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].in_file) {
            fprintf(out, "setting\t%s\t%s\n", rows[i].name, rows[i].help);
        }
    }
    for (int i = 0; i < THEME_COUNT; i++) {
        fprintf(out, "choice\t--theme\t%s\n", theme_names[i]);
    }
    for (int i = 0; i < MOUSE_WORDS; i++) {
        fprintf(out, "choice\t--mouse\t%s\n", mouse_words[i]);
    }
    for (unsigned i = 0; i < key_row_count; i++) {
        fprintf(out, "key\t%s\t%s\n", key_row_names(&key_rows[i], name, sizeof name),
                key_rows[i].help);
    }
    for (int i = 0; i < COLUMN_COUNT; i++) {
        fprintf(out, "column\t%s\t%s\t%s\n", class_columns[i].head, class_columns[i].name,
                class_columns[i].meaning);
    }
    for (int i = 0; i < FLEET_COLUMNS; i++) {
        fprintf(out, "fleet\t%s\t%s\t%s\n", fleet_columns[i].head, fleet_columns[i].name,
                fleet_columns[i].meaning);
    }
    for (int i = 0; i < METRIC_COUNT; i++) {
        fprintf(out, "rate\t%s\t%s\t%s\n", metric_rows[i].name, metric_rows[i].key,
                metric_rows[i].meaning);
    }
    for (int i = 0; i < EXIT_ROWS; i++) {
        fprintf(out, "exit\t%d\t%s\n", (int)exit_rows[i].code, exit_rows[i].meaning);
    }
}
