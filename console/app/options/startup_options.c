#include "app/options/startup_options.h"

#include "app/options/settings_file.h"
#include "app/servers/address_word.h"
#include "brain/lua_outside.h"
#include "draw/cells.h"
#include "draw/class_columns.h"
#include "draw/keys.h"
#include "facts/words.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* How an option is stored: as a switch; as a pointer to the argument; as a copy of a path; or by
 * option_take_by_letter. */
enum taken { SWITCH, ARGUMENT, COPIED_PATH, BY_LETTER };
#define AT(member) offsetof(struct options, member)

static const struct {
    char letter;
    const char *name;
    const char *argument; /* NULL: none */
    const char *help;
    bool in_file; /* also a setting of the configuration file */
    enum taken taken;
    size_t at; /* offset in struct options */
} rows[] = {
    {'s', "server", "ADDRESS",
     "host, host:port, [v6]:port, tls://host:port, /path of a UNIX socket; dns:name:port "
     "or file:path for several servers; or a name in ~/.config/slate/servers (127.0.0.1:11211); "
     "may be given often",
     true, BY_LETTER, 0},
    {'d', "delay", "SECONDS", "time between refreshes, 0.1 to 3600 (1)", true, BY_LETTER, 0},
    {'b', "batch", NULL, "print plain text instead of opening the console", false, SWITCH,
     AT(batch)},
    {'n', "iterations", "N", "batch mode: how many snapshots to print (1)", false, BY_LETTER, 0},
    {'j', "json", NULL, "batch mode with one JSON object a line", false, SWITCH, AT(json)},
    {'v', "csv", NULL, "batch mode with the table of classes as comma-separated values", false,
     SWITCH, AT(csv)},
    {'w', "record", "FILE", "append every snapshot to a recording, as slatectl does", false,
     ARGUMENT, AT(record)},
    {'p', "replay", "FILE", "show a recording in place of a server", false, ARGUMENT, AT(replay)},
    {'t', "at", "SECONDS", "replay: begin paused, this many seconds after the beginning", false,
     BY_LETTER, 0},
    {'l', "audit-log", "FILE",
     "the record of changes ($SLATE_AUDIT, $XDG_STATE_HOME/slate/audit.log, or below "
     "~/.local/state)",
     false, ARGUMENT, AT(audit_log)},
    {'P', "password-file", "FILE", "log in with the user:password in the first line of the file",
     true, BY_LETTER, 0},
    {'S', "tls", NULL, "speak TLS with every server, as with tls:// before its name", true, SWITCH,
     AT(has_tls)},
    {'A', "tls-ca", "FILE", "certificates to trust ($SLATE_TLS_CA, or the system's)", true,
     COPIED_PATH, AT(tls_ca)},
    {'E', "tls-cert", "FILE",
     "client certificate, for a server that requires one ($SLATE_TLS_CERT)", true, COPIED_PATH,
     AT(tls_cert)},
    {'K', "tls-key", "FILE",
     "key of the client certificate ($SLATE_TLS_KEY, or in the file of the certificate)", true,
     COPIED_PATH, AT(tls_key)},
    {'r', "read-only", NULL, "never send a command that changes the server", true, SWITCH,
     AT(read_only)},
    {'a', "ascii", NULL, "draw with ASCII only", true, SWITCH, AT(ascii)},
    {'m', "mono", NULL, "no colours; also when NO_COLOR is set", true, SWITCH, AT(mono)},
    {'C', "theme", "NAME", "default, light, colour-blind, high-contrast or mono", true, BY_LETTER,
     0},
    {'M', "mouse", "WHEN", "yes, no, or auto: not over ssh (auto)", true, BY_LETTER, 0},
    {'N', "no-state", NULL,
     "begin with the defaults, not with the state of the last run, and keep no state", true, SWITCH,
     AT(no_state)},
    {'c', "config", "FILE", "settings to read in place of the usual file", false, ARGUMENT,
     AT(config)},
    {'D', "describe", NULL,
     "print the tables of options, keys, columns and exit codes, tab-separated", false, SWITCH,
     AT(wants_tables)},
    {'h', "help", NULL, "print this text", false, SWITCH, AT(wants_help)},
    {'V', "version", NULL, "print the version", false, SWITCH, AT(wants_version)},
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

static void options_build_getopt(char letters[2 * ROWS + 2], struct option longs[ROWS + 1]) {
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

static bool option_parse_number(const char *text, double least, double most, double *number) {
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number >= least && *number <= most;
}

static bool options_add_address(struct options *options, const char *text, char *why,
                                size_t why_bytes) {
    if (options->server_count == SERVER_LIMIT) {
        snprintf(why, why_bytes, "at most %d servers: '%.80s' is too many", SERVER_LIMIT, text);
        return false;
    }
    return address_parse(text, &options->servers[options->server_count++], why, why_bytes);
}

static bool options_add(struct options *options, const char *text, char *why, size_t why_bytes);

/* Adds servers with commas between them, as in slatectl. A path may hold commas. */
static bool options_add_list(struct options *options, const char *text, char *why,
                             size_t why_bytes) {
    char list[SERVER_NAMES_MOST_BYTES], *next = list;
    if ((size_t)snprintf(list, sizeof list, "%s", text) >= sizeof list) {
        snprintf(why, why_bytes, "the list of servers has more than %zu bytes", sizeof list - 1);
        return false;
    }
    for (char *one; (one = strsep(&next, ",")) != NULL;) {
        if (one[0] == '\0') {
            snprintf(why, why_bytes, "an address is missing in '%.80s'", text);
            return false;
        }
        if (!options_add(options, one, why, why_bytes)) {
            return false;
        }
    }
    return true;
}

/* Adds the server of an address, or those of a name. */
static bool options_add(struct options *options, const char *text, char *why, size_t why_bytes) {
    char addresses[SERVER_NAMES_MOST_BYTES], *next = addresses;
    if (strchr(text, ',') != NULL && strchr(text, '/') == NULL) {
        return options_add_list(options, text, why, why_bytes);
    }
    if (!address_word_resolve(text, addresses, why, why_bytes)) {
        return false;
    }
    bool is_named = strcmp(addresses, text) != 0;
    if (!is_named) {
        return options_add_address(options, text, why, why_bytes);
    }
    for (char *address; (address = strsep(&next, ", \t")) != NULL;) {
        if (address[0] != '\0' && !options_add_address(options, address, why, why_bytes)) {
            return false;
        }
    }
    return true;
}

static const char *const mouse_words[] = {"auto", "yes", "no"};
enum { MOUSE_WORDS = sizeof mouse_words / sizeof *mouse_words };

/* Takes an option that is neither a switch nor a path. False with the argument's mistake in why. */
static bool option_take_by_letter(struct options *options, int letter, const char *argument,
                                  char *why, size_t why_bytes) {
    double number;
    unsigned at;
    switch (letter) {
    case 's':
        return options_add(options, argument, why, why_bytes);
    case 'P':
        return password_file_read(argument, options->credentials, why, why_bytes);
    case 'C':
        at = cells_theme_named(argument);
        options->has_theme = true;
        options->theme = at % THEME_COUNT;
        snprintf(why, why_bytes,
                 "there is no theme '%.40s': default, light, colour-blind, high-contrast, mono",
                 argument);
        return at < THEME_COUNT;
    case 'M':
        for (at = 0; at < MOUSE_WORDS && strcmp(mouse_words[at], argument) != 0;) {
            at++;
        }
        options->mouse = (enum mouse_choice)(at % MOUSE_WORDS);
        snprintf(why, why_bytes, "mouse is yes, no or auto, not '%.40s'", argument);
        return at < MOUSE_WORDS;
    case 't':
        options->has_at = true;
        snprintf(why, why_bytes, "--at takes seconds from the beginning, not '%.40s'", argument);
        return option_parse_number(argument, 0, 1e9, &options->at_s);
    case 'd':
        snprintf(why, why_bytes, "--delay takes seconds from 0.1 to 3600, not '%.40s'", argument);
        if (!option_parse_number(argument, INTERVAL_LEAST_MS / 1000.0, INTERVAL_MOST_MS / 1000.0,
                                 &number)) {
            return false;
        }
        options->interval_ms = (uint64_t)llround(number * 1000);
        return true;
    default:
        snprintf(why, why_bytes, "--iterations takes a number from 1 to %d, not '%.40s'",
                 SNAPSHOTS_MOST, argument);
        if (!option_parse_number(argument, 1, SNAPSHOTS_MOST, &number) ||
            argument[strspn(argument, "0123456789")] != '\0') {
            return false;
        }
        options->snapshots = (unsigned)number;
        return true;
    }
}

static bool take_option(struct options *options, int letter, const char *argument, char *why,
                        size_t why_bytes) {
    int row = 0;
    while (rows[row].letter != letter) {
        row++;
    }
    char *to = (char *)options + rows[row].at;
    switch (rows[row].taken) {
    case SWITCH:
        *(bool *)to = true;
        options->batch = options->batch || options->json || options->csv;
        return true;
    case ARGUMENT:
        memcpy(to, &argument, sizeof argument);
        return true;
    case COPIED_PATH:
        snprintf(why, why_bytes, "'%.40s' is no path of a certificate or key", argument);
        snprintf(to, TLS_PATH_BYTES, "%s", argument);
        return argument[0] != '\0' && strlen(argument) < TLS_PATH_BYTES;
    case BY_LETTER:
        break;
    }
    return option_take_by_letter(options, letter, argument, why, why_bytes);
}

/* Checks that the options fit together. */
static bool options_check_together(struct options *options, char *why, size_t why_bytes) {
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
        !options_add_address(options, "127.0.0.1", why, why_bytes)) {
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

/* Takes a setting of the file. Its name is a long option's; a switch takes yes or no. */
static bool option_take_setting(void *taker, const char *name, const char *value, char *why,
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
            return true; /* "no" is the default */
        }
        snprintf(why, why_bytes, "%s is yes or no, not '%.40s'", name, value);
        return false;
    }
    snprintf(why, why_bytes, "there is no setting '%.40s'; man slatetop lists them", name);
    return false;
}

/* The path in --config: its file is read before the other options. */
static const char *options_find_config(int argc, char **argv, const char *letters,
                                       const struct option *longs) {
    const char *path = NULL;
    optind = 0; /* GNU: start afresh, so that tests may parse more than once */
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        path = letter == 'c' ? optarg : path;
    }
    return path;
}

static bool options_read_config(struct options *options, const char *path, char *why,
                                size_t why_bytes) {
    char usual[4096];
    bool is_given = path != NULL;
    if (!is_given && !lua_outside_place("options", usual, sizeof usual)) {
        return true;
    }
    enum settings_read got = settings_file_read(is_given ? path : usual, is_given,
                                                option_take_setting, options, why, why_bytes);
    if (is_given) {
        return got == SETTINGS_TAKEN;
    }
    if (got == SETTINGS_UNREADABLE) {
        snprintf(options->unread, sizeof options->unread, "%s: starting with the defaults", why);
        words_make_plain(options->unread);
    }
    return got != SETTINGS_WRONG;
}

static bool options_read_words(struct options *options, int argc, char **argv, const char *letters,
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
        if (!options_add(options, argv[optind], why, why_bytes)) {
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
    options_build_getopt(letters, longs);
    if (!options_read_config(options, options_find_config(argc, argv, letters, longs), why,
                             why_bytes)) {
        return false;
    }
    unsigned in_file = options->server_count;
    memcpy(of_file, options->servers, in_file * sizeof *of_file);
    options->server_count = 0;
    if (!options_read_words(options, argc, argv, letters, longs, why, why_bytes)) {
        return false;
    }
    if (options->server_count == 0 && options->replay == NULL) {
        memcpy(options->servers, of_file, in_file * sizeof *of_file);
        options->server_count = in_file;
    }
    return options_check_together(options, why, why_bytes);
}

static const char *option_name(int row, char out[40]) {
    snprintf(out, 40, "--%s%s%s", rows[row].name, rows[row].argument != NULL ? " " : "",
             rows[row].argument != NULL ? rows[row].argument : "");
    return out;
}

/* Prints a text from a column on, in lines of 80 columns. */
static void options_print_wrapped(FILE *out, int column, const char *text) {
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
        options_print_wrapped(out, HELP_COLUMN, rows[i].help);
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
        fprintf(out, "choice\t--theme\t%s\n", cells_themes[i]);
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

/* ---- passwords and certificates ---- */

/* The path that the option names, else that of the environment; NULL: neither. */
static const char *option_path_of(const char *given, const char *variable) {
    const char *named = getenv(variable);
    return given[0] != '\0' ? given : named != NULL && named[0] != '\0' ? named : NULL;
}

bool options_open(struct options *options, char *why, size_t why_bytes) {
    const struct tls_files files = {.ca = option_path_of(options->tls_ca, "SLATE_TLS_CA"),
                                    .cert = option_path_of(options->tls_cert, "SLATE_TLS_CERT"),
                                    .key = option_path_of(options->tls_key, "SLATE_TLS_KEY")};
    bool has_tls = false;
    for (unsigned i = 0; i < options->server_count; i++) {
        has_tls = has_tls || options->servers[i].is_tls;
    }
    options->access = (struct access){.credentials = options->credentials,
                                      .tls = tls_context_create(&files)};
    return !has_tls || options->access.tls == NULL ||
           tls_context_load(options->access.tls, why, why_bytes);
}

void options_close(struct options *options) {
    tls_context_destroy(&options->access.tls);
}
