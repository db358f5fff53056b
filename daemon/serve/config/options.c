#include "serve/config/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_BASE = 1000 }; /* a long option returns LONG_BASE + its row */

/* ":", each letter with or without ":", "o:" */
static char          letters[1 + 2 * SETTING_ROWS + 2 + 1];
static struct option long_options[SETTING_ROWS + 2];

/* Builds getopt's two tables from the rows. */
static void build_tables(void) {
    size_t letter = 0, longs = 0;
    letters[letter++] = ':'; /* report a missing argument apart from an unknown option */
    for (size_t i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i];
        if (row->flag == OPT_EXTENDED || (!row->flag && !row->name)) {
            continue;
        }
        bool value = setting_takes_value(row);
        if (row->flag) {
            letters[letter++] = row->flag;
            if (value) {
                letters[letter++] = ':';
            }
        }
        if (row->name) {
            long_options[longs++] = (struct option){
                row->name, value ? required_argument : no_argument, NULL, LONG_BASE + (int)i};
        }
    }
    letters[letter++] = 'o';
    letters[letter++] = ':';
    letters[letter] = '\0';
    long_options[longs++] = (struct option){"extended", required_argument, NULL, 'o'};
    long_options[longs] = (struct option){0};
}

static const struct setting *row_of_letter(int letter) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->flag == letter && letter != OPT_EXTENDED) {
            return row;
        }
    }
    return NULL;
}

/* Options that have no letter are sub-options of -o too, and may be written with _ for - there. */
static const struct setting *row_of_extended(const char *name) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        bool ours = !row->flag && row->name && row->type != SETTING_ACTION;
        if ((row->flag == OPT_EXTENDED && strcmp(row->name, name) == 0) ||
            (ours && (strcmp(row->name, name) == 0 || strcmp(row->field, name) == 0))) {
            return row;
        }
    }
    return NULL;
}

static bool fail(char *why, const char *option, const char *said) {
    snprintf(why, SETTING_WHY_BYTES, "%.60s %.190s", option, said);
    return false;
}

static void give(struct settings *s, const char *field, const char *text) {
    char why[SETTING_WHY_BYTES];
    setting_set(s, setting_find(field, strlen(field)), text, false, why);
}

/* What an option that stands for several makes of them; those behind it may change them again. */
static void read_bundle(struct settings *s, const struct setting *row) {
    if (strcmp(row->field, "no_modern") == 0 && s->no_modern) {
        s->no_chunked_items = true;
        s->slab_reassign = s->maxconns_fast = s->lru_crawler = s->lru_maintainer = false;
        give(s, "slab_automove", "off");
        give(s, "hash_algorithm", "jenkins");
    } else if (strcmp(row->field, "like_memcached") == 0 && s->like_memcached) {
        give(s, "policy", "slru");
        give(s, "slab_automove", "1");
        give(s, "hash_algorithm", "murmur3");
    }
}

static void note_given(struct settings *s, const struct setting *row) {
    s->given_in_vain[row - setting_table] = !setting_has_effect(row);
}

/* One sub-option of -o: name, name=value or no_name. */
static bool read_extended(struct settings *s, char *word, char *why) {
    char  said[SETTING_WHY_BYTES], option[SETTING_WHY_BYTES / 2];
    char *value = strchr(word, '=');
    if (value) {
        *value++ = '\0';
    }
    snprintf(option, sizeof option, "-o %s", word);
    const struct setting *row = row_of_extended(word);
    bool cleared = false;
    if (!row && strncmp(word, "no_", 3) == 0) {
        row = row_of_extended(word + 3);
        cleared = true;
    }
    if (!row) {
        return fail(why, option, "is not an option");
    }
    if (cleared && value) {
        return fail(why, option, "takes no value");
    }
    if (!cleared && !value && strcmp(row->field, "slab_automove") == 0) {
        value = "1"; /* memcached's short form */
    }
    if (!setting_set(s, row, value, cleared, said)) {
        return fail(why, option, said);
    }
    read_bundle(s, row);
    note_given(s, row);
    return true;
}

static bool read_extended_list(struct settings *s, char *list, char *why) {
    char *word = list;
    for (;;) {
        char *comma = strchr(word, ',');
        if (comma) {
            *comma = '\0';
        }
        if (!read_extended(s, word, why)) {
            return false;
        }
        if (!comma) {
            return true;
        }
        word = comma + 1;
    }
}

static bool read_one(struct settings *s, const struct setting *row, const char *value, char *why) {
    char said[SETTING_WHY_BYTES], option[64];
    if (row->flag) {
        snprintf(option, sizeof option, "-%c", row->flag);
    } else {
        snprintf(option, sizeof option, "--%s", row->name);
    }
    if (!setting_set(s, row, value, false, said)) {
        return fail(why, option, said);
    }
    note_given(s, row);
    return true;
}

/* Which action an option asks for; OPTIONS_RUN: none. */
static enum options_action action_of(const struct setting *row) {
    static const char *const names[] = {
        [OPTIONS_HELP] = "help", [OPTIONS_LICENSE] = "license", [OPTIONS_VERSION] = "version",
        [OPTIONS_DESCRIBE] = "describe", [OPTIONS_DESCRIBE_COUNTERS] = "describe_counters",
    };
    for (enum options_action a = OPTIONS_HELP;
         row->type == SETTING_ACTION && a <= OPTIONS_DESCRIBE_COUNTERS; a++) {
        if (strcmp(row->field, names[a]) == 0) {
            return a;
        }
    }
    return OPTIONS_RUN;
}

enum options_action options_parse(int argc, char **argv, struct settings *s, char *why) {
    build_tables();
    settings_init(s);
    optind = 0; /* start over, also for a second call */
    opterr = 0;
    for (int got; (got = getopt_long(argc, argv, letters, long_options, NULL)) != -1;) {
        if (got == 'o') {
            if (!read_extended_list(s, optarg, why)) {
                return OPTIONS_BAD;
            }
            continue;
        }
        if (got == '?' || got == ':') {
            bool is_long = strncmp(argv[optind - 1], "--", 2) == 0;
            char letter[3] = {'-', (char)optopt, '\0'};
            const char *missing = "needs a value",
                       *unknown = optopt ? "takes no value" : "is not an option";
            fail(why, is_long ? argv[optind - 1] : letter,
                 got == ':' ? missing : is_long ? unknown : "is not an option");
            return OPTIONS_BAD;
        }
        const struct setting *row =
            got >= LONG_BASE ? &setting_table[got - LONG_BASE] : row_of_letter(got);
        enum options_action action = action_of(row);
        if (action != OPTIONS_RUN) {
            return action;
        }
        if (!read_one(s, row, optarg, why)) {
            return OPTIONS_BAD;
        }
    }
    if (optind < argc) {
        fail(why, argv[optind], "is not an option");
        return OPTIONS_BAD;
    }
    return settings_settle(s, why) ? OPTIONS_RUN : OPTIONS_BAD;
}
