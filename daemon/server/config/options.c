#include "server/config/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/config_file.h"

enum { LONG_BASE = 1000 }; /* a long option returns LONG_BASE + its row */

/* ":", each letter with or without ":", "o:" */
static char          option_letters[1 + 2 * SETTING_ROWS + 2 + 1];
static struct option option_long[SETTING_ROWS + 2];

/* Builds getopt's two tables from the rows. */
static void options_build_tables(void) {
    size_t letter = 0, longs = 0;
    option_letters[letter++] = ':'; /* getopt then returns : for a missing argument */
    for (size_t i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i];
        if (row->flag == OPT_EXTENDED || (!row->flag && !row->name)) {
            continue;
        }
        bool value = setting_takes_value(row);
        if (row->flag) {
            option_letters[letter++] = row->flag;
            if (value) {
                option_letters[letter++] = ':';
            }
        }
        if (row->name) {
            int argument = row->type == SETTING_COUNT ? optional_argument /* --verbose=2 */
                           : value                    ? required_argument
                                                      : no_argument;
            option_long[longs++] = (struct option){row->name, argument, NULL, LONG_BASE + (int)i};
        }
    }
    option_letters[letter++] = 'o';
    option_letters[letter++] = ':';
    option_letters[letter] = '\0';
    option_long[longs++] = (struct option){"extended", required_argument, NULL, 'o'};
    option_long[longs] = (struct option){0};
}

static const struct setting *option_of_letter(int letter) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->flag == letter && letter != OPT_EXTENDED) {
            return row;
        }
    }
    return NULL;
}

/* Whether the row is that of --config. options_find_file reads this option before all others, so it
 * has this one form only. */
static bool option_names_file(const struct setting *row) {
    return row->offset == offsetof(struct settings, config) && row->type == SETTING_TEXT;
}

/* Finds an option by its name behind -o: a sub-option, or a long option without a letter, whose
 * words may be joined by _ or -. */
static const struct setting *option_of_extended(const char *name) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        bool ours =
            !row->flag && row->name && row->type != SETTING_ACTION && !option_names_file(row);
        if ((row->flag == OPT_EXTENDED && strcmp(row->name, name) == 0) ||
            (ours && (strcmp(row->name, name) == 0 || strcmp(row->field, name) == 0))) {
            return row;
        }
    }
    return NULL;
}

static bool option_fail(char *why, const char *option, const char *clause) {
    snprintf(why, SETTING_WHY_BYTES, "%.60s %.190s", option, clause);
    return false;
}

static void option_imply(struct settings *s, const char *field, const char *text) {
    char why[SETTING_WHY_BYTES];
    const struct setting *row = setting_find(field, strlen(field));
    setting_set(s, row, text, false, why);
    s->given[row - setting_table] = true;
}

/* Sets all values that a bundle option implies. Later options may change them again. */
static void option_apply_bundle(struct settings *s, const struct setting *row) {
    if (strcmp(row->field, "no_modern") == 0 && s->no_modern) {
        s->no_chunked_items = true;
        s->slab_reassign = s->maxconns_fast = s->lru_crawler = s->lru_maintainer = false;
        option_imply(s, "slab_geometry_auto", "no");
        option_imply(s, "slab_automove", "off");
        option_imply(s, "hash_algorithm", "jenkins");
    } else if (strcmp(row->field, "like_memcached") == 0 && s->like_memcached) {
        option_imply(s, "policy", "slru");
        option_imply(s, "slab_automove", "1");
        option_imply(s, "hash_algorithm", "murmur3");
        option_imply(s, "slab_geometry_auto", "no");
        option_imply(s, "partitions", "1"); /* one order of eviction, however few the items */
    }
}

static void option_mark_given(struct settings *s, const struct setting *row) {
    s->given[row - setting_table] = true;
    s->given_in_vain[row - setting_table] = !setting_has_effect(row);
}

/* Removes white space at both ends: charts write an option and its value as one word, "-m 8192". */
static char *option_trim(char *text) {
    while (isspace((unsigned char)*text)) {
        text++;
    }
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) {
        *--end = '\0';
    }
    return text;
}

/* Whether memcached accepts an empty value, such as an unset variable of a script. */
static bool option_may_be_empty(const struct setting *row) {
    bool number = row->type == SETTING_INT || row->type == SETTING_OCTAL;
    return (number && row->min <= 0) || row->type == SETTING_LIST || row->type == SETTING_MODE ||
           row->flag == 'P' || row->flag == 'u';
}

/* Whether the value is empty. A list of separators only, as from "$A;$B", is empty too. */
static bool option_is_empty(const struct setting *row, const char *value) {
    return value[row->type == SETTING_LIST ? strspn(value, SETTING_LIST_SEPARATORS) : 0] == '\0';
}

/* Sets an option, without the white space around its value. False: the value is refused, and
 * `clause` holds the clause of setting_set. */
static bool option_take(struct settings *s, const struct setting *row, char *given, bool cleared,
                        char *clause) {
    const char *value = given ? option_trim(given) : NULL;
    if (value && option_is_empty(row, value) && option_may_be_empty(row)) {
        s->given_empty[row - setting_table] = true;
        return true;
    }
    if (value && *value == '\0' && !setting_takes_value(row)) {
        value = NULL;
    }
    if (!cleared && !value && strcmp(row->field, "slab_automove") == 0) {
        value = "1"; /* memcached's short form, a name without a value */
    }
    if (!setting_set(s, row, value, cleared, clause)) {
        return false;
    }
    option_apply_bundle(s, row);
    option_mark_given(s, row);
    return true;
}

/* One sub-option of -o: name, name=value or no_name. */
static bool options_read_extended(struct settings *s, char *word, char *why) {
    char  clause[SETTING_WHY_BYTES], option[SETTING_WHY_BYTES / 2];
    char *value = strchr(word, '=');
    if (value) {
        *value++ = '\0';
    }
    word = option_trim(word);
    snprintf(option, sizeof option, "-o %s", word);
    const struct setting *row = option_of_extended(word);
    bool cleared = false;
    if (!row && strncmp(word, "no_", 3) == 0) {
        row = option_of_extended(word + 3);
        cleared = true;
    }
    if (!row) {
        return option_fail(why, option, "is not an option");
    }
    if (cleared && value && !setting_is_yes(option_trim(value))) {
        return option_fail(why, option, "takes no value");
    }
    return option_take(s, row, cleared ? NULL : value, cleared, clause)
               ? true
               : option_fail(why, option, clause);
}

static bool options_read_extended_list(struct settings *s, char *list, char *why) {
    char *word = option_trim(list);
    if (*word == '\0') {
        return true; /* an empty variable of a start script; memcached accepts it too */
    }
    for (;;) {
        char *comma = strchr(word, ',');
        if (comma) {
            *comma = '\0';
        }
        if (!options_read_extended(s, word, why)) {
            return false;
        }
        if (!comma || comma[1] == '\0') { /* getsubopt accepts a comma at the end */
            return true;
        }
        word = comma + 1;
    }
}

static bool option_read(struct settings *s, const struct setting *row, char *value, char *why) {
    char clause[SETTING_WHY_BYTES], option[64];
    if (row->flag) {
        snprintf(option, sizeof option, "-%c", row->flag);
    } else {
        snprintf(option, sizeof option, "--%s", row->name);
    }
    return option_take(s, row, value, false, clause) ? true : option_fail(why, option, clause);
}

/* The action of an option; OPTIONS_RUN: none. */
static enum options_action option_action(const struct setting *row) {
    static const char *const names[] = {
        [OPTIONS_HELP] = "help", [OPTIONS_LICENSE] = "license", [OPTIONS_VERSION] = "version",
        [OPTIONS_DESCRIBE] = "describe", [OPTIONS_DESCRIBE_COUNTERS] = "describe_counters",
        [OPTIONS_CHECK] = "check_config",
    };
    for (enum options_action a = OPTIONS_HELP; row->type == SETTING_ACTION && a <= OPTIONS_CHECK;
         a++) {
        if (strcmp(row->field, names[a]) == 0) {
            return a;
        }
    }
    return OPTIONS_RUN;
}

/* --- the environment --- */

/* Cuts `text` into words in place. Returns their number, or -1 if a quote has no end. */
static int options_split_words(char *text, char **word) {
    int   count = 0;
    char *to = text;
    for (const char *at = text;;) {
        while (isspace((unsigned char)*at)) {
            at++;
        }
        if (*at == '\0') {
            return count;
        }
        /* `to` never passes `at`: quotes are removed, and a blank becomes the terminator of its
         * word */
        word[count++] = to;
        char quote = '\0';
        for (; *at != '\0' && (quote || !isspace((unsigned char)*at)); at++) {
            if (quote ? *at == quote : *at == '\'' || *at == '"') {
                quote = quote ? '\0' : *at;
            } else {
                *to++ = *at;
            }
        }
        if (quote) {
            return -1;
        }
        bool last = *at == '\0';
        at += !last;
        *to++ = '\0';
        if (last) {
            return count;
        }
    }
}

/* Settings borrow from the words. Volatile keeps them reachable for the leak checker. */
static char **volatile options_own_words;

char **options_words(const char *text, int *argc, char **argv, char *why) {
    size_t bytes = strlen(text) + 1, given = (size_t)*argc;
    /* each word has at least one byte and a blank or the end behind it */
    size_t words = given + bytes / 2 + 1;
    for (size_t i = 0; i < given; i++) {
        bytes += strlen(argv[i]) + 1;
    }
    char **word = malloc(words * sizeof *word + bytes);
    if (!word) {
        snprintf(why, SETTING_WHY_BYTES, "out of memory");
        return NULL;
    }
    char *to = (char *)(word + words);
    strcpy(to, text);
    int count = options_split_words(to, word + 1);
    if (count < 0) {
        snprintf(why, SETTING_WHY_BYTES, OPTIONS_ENVIRONMENT " has a quote without an end");
        free(word);
        return NULL;
    }
    to += strlen(text) + 1;
    for (size_t i = 0; i < given; i++) {
        word[i > 0 ? i + (size_t)count : 0] = to;
        to = stpcpy(to, argv[i]) + 1;
    }
    *argc = (int)given + count;
    word[*argc] = NULL;
    options_own_words = word;
    return word;
}

/* --- the file of options --- */

/* Reads "-vv", "-m64" or "-m 64", without the dash. *remainder: the next option of the line; NULL:
 * none. */
static bool options_read_letters(struct settings *s, struct config_line *line, char **remainder,
                                 char *why) {
    char *name = line->name;
    for (const char *at = name; *at; at++) {
        const struct setting *row = option_of_letter(*at);
        char  letter[3] = {'-', *at, '\0'};
        bool  takes_value = *at == 'o' || (row && setting_takes_value(row));
        bool  attached = takes_value && at[1] != '\0';
        if (*at != 'o' && (!row || row->type == SETTING_ACTION)) {
            return option_fail(why, letter, "is no option of a file");
        }
        if (takes_value) {
            *remainder = config_line_remainder(line, !attached);
            char *value = attached ? name + (at - name) + 1 : line->value;
            if (!value || (attached && line->value)) {
                return option_fail(why, letter, value ? "takes one value" : "needs a value");
            }
            return *at == 'o' ? options_read_extended_list(s, value, why)
                              : option_read(s, row, value, why);
        }
        if (!option_read(s, row, NULL, why)) {
            return false;
        }
    }
    *remainder = config_line_remainder(line, false);
    return *name && !line->value ? true
                                 : option_fail(why, "-", "wants letters, and no value behind them");
}

static const struct setting *option_of_long(const char *name) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->flag != OPT_EXTENDED && row->name && strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* Reads "NAME", "NAME VALUE" or "NAME = VALUE": a long option or a sub-option of -o. *remainder: as
 * above. */
static bool options_read_named(struct settings *s, struct config_line *line, char **remainder,
                               char *why) {
    char clause[SETTING_WHY_BYTES];
    if (strcmp(line->name, "logfile") == 0 && line->value) {
        s->logfile_named = true; /* an option of Debian's memcached.conf only */
        return true;
    }
    if (line->name[0] == '\0') {
        return option_fail(why, "=", "has no option before it");
    }
    const struct setting *row = option_of_long(line->name);
    bool cleared = false;
    if (!row && (row = option_of_extended(line->name)) == NULL &&
        strncmp(line->name, "no_", 3) == 0) {
        row = option_of_extended(line->name + 3);
        cleared = true;
    }
    if (!row || row->type == SETTING_ACTION || option_names_file(row)) {
        return option_fail(why, line->name, "is no option of a file");
    }
    /* "disable-cas = yes" is refused: unclear whether that sets or clears cas */
    bool negated = row->type == SETTING_NEGATED || row->type == SETTING_NEGSWITCH;
    *remainder = config_line_remainder(line, setting_takes_value(row));
    if (line->value && (cleared || negated)) {
        return option_fail(why, line->name, "takes no value");
    }
    return option_take(s, row, line->value, cleared, clause) ? true
                                                             : option_fail(why, line->name, clause);
}

static bool options_read_line(struct settings *s, struct config_line *line, char *why) {
    for (;;) {
        char *remainder = NULL;
        if (!(line->letters ? options_read_letters(s, line, &remainder, why)
                            : options_read_named(s, line, &remainder, why))) {
            return false;
        }
        if (!remainder) {
            return true;
        }
        config_line_cut(remainder, line);
    }
}

static bool options_read_file(struct settings *s, const char *path, char *why) {
    char clause[SETTING_WHY_BYTES];
    s->config_text = config_file_read(path, clause);
    if (!s->config_text) {
        snprintf(why, OPTIONS_WHY_BYTES, "--config %.400s %.240s", path, clause);
        return false;
    }
    char *at = s->config_text;
    struct config_line line = {.number = 0};
    while (config_file_next(&at, &line)) {
        if (!options_read_line(s, &line, clause)) {
            snprintf(why, OPTIONS_WHY_BYTES, "%.400s:%u: %.255s", path, line.number, clause);
            return false;
        }
    }
    /* the first address of the command line replaces those of the file, as it replaces the
     * default */
    s->list_given = false;
    return true;
}

/* Returns the file of the last --config, and the index of its word in *word. NULL: not given.
 * Errors in other options are reported later. */
static const char *options_find_file(int argc, char **argv, int *word) {
    const char *path = NULL;
    optind = 0; /* 0 restarts getopt, also in a second call */
    opterr = 0;
    *word = 1;
    for (int got, at = 1; (got = getopt_long(argc, argv, option_letters, option_long, NULL)) != -1;
         at = optind) {
        if (got >= LONG_BASE && option_names_file(&setting_table[got - LONG_BASE])) {
            path = option_trim(optarg);
            *word = at;
        }
    }
    return path;
}

/* Several options in one quoted word are read as one value or name, and refused. Adds the remedy to
 * the sentence. */
static void options_advise_split(char *why, const char *word) {
    size_t used = strlen(why);
    if (strstr(word, " -") != NULL) {
        snprintf(why + used, OPTIONS_WHY_BYTES - used, "; write each option as a word of its own");
    }
}

/* Reads the options of argv. *word becomes the index of the word with the last option read. */
static enum options_action options_read_words(struct settings *s, int argc, char **argv, int *word,
                                              char *why) {
    bool check = false;
    optind = 0;
    *word = 1;
    for (int got; (got = getopt_long(argc, argv, option_letters, option_long, NULL)) != -1;
         *word = optind) {
        const char *given = argv[optind == *word ? optind : optind - 1]; /* first: amid letters */
        if (got == 'o') {
            if (!options_read_extended_list(s, optarg, why)) {
                options_advise_split(why, given);
                return OPTIONS_BAD;
            }
            continue;
        }
        if (got == '?' || got == ':') {
            bool is_long = strncmp(given, "--", 2) == 0;
            char letter[3] = {'-', (char)optopt, '\0'};
            const char *missing = "needs a value",
                       *unknown = optopt ? "takes no value" : "is not an option";
            option_fail(why, is_long ? given : letter,
                        got == ':' ? missing
                        : is_long  ? unknown
                                   : "is not an option");
            options_advise_split(why, given);
            return OPTIONS_BAD;
        }
        const struct setting *row =
            got >= LONG_BASE ? &setting_table[got - LONG_BASE] : option_of_letter(got);
        enum options_action action = option_action(row);
        if (action == OPTIONS_CHECK) {
            check = true;
            continue;
        }
        if (action != OPTIONS_RUN) {
            return action;
        }
        if (!option_read(s, row, optarg, why)) {
            options_advise_split(why, given);
            return OPTIONS_BAD;
        }
    }
    s->stray = optind < argc ? argv[optind] : NULL;
    s->stray_count = argc - optind;
    return check ? OPTIONS_CHECK : OPTIONS_RUN;
}

/* Puts the name of the environment variable before the sentence. */
static void options_name_environment(char *why) {
    char clause[OPTIONS_WHY_BYTES];
    snprintf(clause, sizeof clause, "%s", why);
    snprintf(why, OPTIONS_WHY_BYTES, OPTIONS_ENVIRONMENT ": %.*s",
             (int)(OPTIONS_WHY_BYTES - sizeof OPTIONS_ENVIRONMENT - 2), clause);
}

enum options_action options_parse(int argc, char **argv, int from_environment, struct settings *s,
                                  char *why) {
    options_build_tables();
    settings_init(s);
    int word;
    const char *path = options_find_file(argc, argv, &word);
    enum options_action action = OPTIONS_BAD;
    if (!path || options_read_file(s, path, why)) {
        action = options_read_words(s, argc, argv, &word, why);
    } else if (s->config_text) {
        return action; /* the sentence names the file and the line */
    }
    if (action == OPTIONS_BAD && word <= from_environment) {
        options_name_environment(why);
    }
    bool is_complete = action == OPTIONS_RUN || action == OPTIONS_CHECK;
    return is_complete && !settings_settle(s, why) ? OPTIONS_BAD : action;
}
