/* Shows settings: in statistics, in --help and in --describe. */
#include <inttypes.h>
#include <string.h>

#include "server/config/settings.h"

/* Writes at least three decimals, as memcached does, and as many as the number needs: 0.0001 is not
 * 0, nor is 1e-11. */
static int setting_format_ratio3(double ratio, char *to, size_t room) {
    enum { DECIMALS = 10, DECIMALS_MIN = 3 };
    if (ratio > 0 && ratio < 1e-9) {
        return snprintf(to, room, "%g", ratio);
    }
    int n = snprintf(to, room, "%.*f", DECIMALS, ratio), least = n - DECIMALS + DECIMALS_MIN;
    if (n < 0 || (size_t)n >= room) {
        return n;
    }
    while (n > least && to[n - 1] == '0') {
        to[--n] = '\0';
    }
    return n;
}

int setting_format(const struct settings *s, const struct setting *row, char *to, size_t room) {
    const void *at = (const char *)s + row->offset;
    const char *text = row->default_text;
    switch (setting_types[row->type].stored) {
    case SETTING_STORED_BOOL:
        text = *(const bool *)at ? "yes" : "no";
        if (row->type == SETTING_NEGSWITCH) {
            text = *(const bool *)at ? "on" : "off";
        }
        break;
    case SETTING_STORED_INT:
        return snprintf(to, room, row->type == SETTING_OCTAL ? "%o" : "%d", *(const int *)at);
    case SETTING_STORED_UINT64: return snprintf(to, room, "%" PRIu64, *(const uint64_t *)at);
    case SETTING_STORED_DOUBLE:
        return row->type == SETTING_RATIO3 ? setting_format_ratio3(*(const double *)at, to, room)
                                           : snprintf(to, room, "%.2f", *(const double *)at);
    case SETTING_STORED_TEXT: text = *(const char *const *)at; break;
    case SETTING_STORED_CHARS: text = at; break;
    case SETTING_STORED_NOT: break;
    }
    return snprintf(to, room, "%s", text ? text : "NULL");
}

int setting_format_stat(const struct settings *s, const struct setting *row, char *to,
                        size_t room) {
    /* OpenSSL's bits: SSL_VERIFY_PEER 1, ..._FAIL_IF_NO_PEER_CERT 2, ..._CLIENT_ONCE 4 */
    static const int verify_bits[] = {0, 1, 3, 7};
    const void *at = (const char *)s + row->offset;
    if (at == &s->ssl_verify_mode) {
        return snprintf(to, room, "%d", verify_bits[s->ssl_verify_mode]);
    }
    if ((at == &s->ssl_chain_cert && !s->ssl_chain_cert) || (at == &s->ssl_key && !s->ssl_key) ||
        (at == &s->memory_file && !s->memory_file)) {
        return snprintf(to, room, "(null)");
    }
    return setting_format(s, row, to, room);
}

/* --- --help --- */

static const char *const group_titles[GROUP_COUNT] = {
    [GROUP_NETWORK] = "Network",
    [GROUP_MEMORY] = "Memory",
    [GROUP_TUNING] = "Eviction and page moves",
    [GROUP_ACCESS] = "What clients may do",
    [GROUP_PROCESS] = "Process",
};

/* The option as a user types it: "-p, --port=port", "-o hashpower=power of 2". */
static int setting_option_form(char *to, size_t room, const struct setting *row) {
    const char *unit = !setting_takes_value(row)       ? ""
                       : row->type == SETTING_MEGABYTES ? "megabytes"
                       : row->type == SETTING_KILOBYTES ? "kilobytes"
                                                        : row->unit;
    const char *is = *unit ? "=" : "";
    if (row->flag == OPT_EXTENDED) {
        return snprintf(to, room, "-o %s%s%s", row->name, is, unit);
    }
    if (!row->flag) {
        return snprintf(to, room, "    --%s%s%s", row->name, is, unit);
    }
    if (!row->name) {
        return snprintf(to, room, "-%c %s", row->flag, unit);
    }
    return snprintf(to, room, "-%c, --%s%s%s", row->flag, row->name, is, unit);
}

static bool setting_is_option(const struct setting *row) { return row->flag || row->name; }

/* Writes the default. False: a flag that is off by default, or no default. */
static bool setting_default_text(const struct setting *row, char *to, size_t room) {
    struct settings defaults;
    if (setting_types[row->type].stored == SETTING_STORED_NOT || row->type == SETTING_COUNT ||
        (!row->default_text && row->default_number == 0)) {
        return false;
    }
    if (!setting_takes_value(row)) {
        return row->type == SETTING_FLAG &&
               snprintf(to, room, "on; no_%s turns it off", row->name) > 0;
    }
    if (setting_types[row->type].stored == SETTING_STORED_UINT64) {
        char bytes[32];
        setting_format_bytes(bytes, row->default_number);
        return snprintf(to, room, "%s", bytes) > 0;
    }
    settings_init(&defaults);
    return setting_format(&defaults, row, to, room) > 0;
}

enum { HELP_COLUMNS = 80, HELP_INDENT = 36 };

/* Writes the words of a text from `column` on, in lines that begin at HELP_INDENT. Returns the
 * column behind the last word. A word that is too long gets a line of its own. */
static int settings_put_words(FILE *to, int column, const char *text) {
    while (*text != '\0') {
        int n = (int)strcspn(text, " ");
        if (column > HELP_INDENT && column + 1 + n > HELP_COLUMNS) {
            fprintf(to, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    return column;
}

static void setting_help(FILE *to, const struct setting *row) {
    char form[128], value[SETTING_LIST_BYTES], shown[SETTING_LIST_BYTES + 2];
    int n = setting_option_form(form, sizeof form, row);
    bool is_long = n + 2 > HELP_COLUMNS; /* the help text then lists the choices */
    if (is_long) {
        n = snprintf(form, sizeof form, "    --%s=name", row->name);
    }
    fprintf(to, "  %-*s", HELP_INDENT - 2, form);
    if (n + 2 >= HELP_INDENT) {
        fprintf(to, "\n%*s", HELP_INDENT, "");
    }
    int column = settings_put_words(to, HELP_INDENT, row->help);
    if (is_long) {
        fputc(';', to);
        column = settings_put_words(to, column + 1, "one of");
    }
    for (const char *at = is_long ? row->unit : ""; *at != '\0'; at += strspn(at, "|")) {
        int bytes = (int)strcspn(at, "|");
        snprintf(shown, sizeof shown, "%.*s%s", bytes, at, at[bytes] != '\0' ? "," : "");
        column = settings_put_words(to, column, shown);
        at += bytes;
    }
    if (setting_default_text(row, value, sizeof value)) {
        snprintf(shown, sizeof shown, "(%s)", value);
        settings_put_words(to, column, shown);
    }
    fputc('\n', to);
}

void settings_help(FILE *to) {
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        fprintf(to, "%s%s:\n", group ? "\n" : "", group_titles[group]);
        /* options with a letter come first, then sub-options of -o, and last a list of options that
         * this program lacks */
        for (int extended = 0; extended < 2; extended++) {
            for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS;
                 row++) {
                if (row->group == group && setting_is_option(row) && row->type != SETTING_ABSENT &&
                    (row->flag == OPT_EXTENDED) == extended) {
                    setting_help(to, row);
                }
            }
        }
    }
    fprintf(to, "\nOptions of memcached that are refused:\n");
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (setting_is_option(row) && row->type == SETTING_ABSENT) {
            setting_help(to, row);
        }
    }
}

/* --- --describe --- */

static const char *const group_names[GROUP_COUNT] = {
    [GROUP_NETWORK] = "network", [GROUP_MEMORY] = "memory", [GROUP_TUNING] = "tuning",
    [GROUP_ACCESS] = "access",   [GROUP_PROCESS] = "process",
};

void settings_describe(FILE *to) {
    struct settings defaults;
    settings_init(&defaults);
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        char value[SETTING_LIST_BYTES], option[64] = "-";
        setting_format(&defaults, row, value, sizeof value);
        if (row->flag == OPT_EXTENDED) {
            snprintf(option, sizeof option, "-o %s", row->name);
        } else if (row->flag) {
            snprintf(option, sizeof option, "-%c%s%s", row->flag, row->name ? " --" : "",
                     row->name ? row->name : "");
        } else if (row->name) {
            snprintf(option, sizeof option, "--%s", row->name);
        }
        fprintf(to, "%s\t%s\t%s\t%s\t%.15g\t%.15g\t%s\t%s\t%s\t%s\t%s\n", row->field, option,
                setting_types[row->type].name, row->type == SETTING_ACTION ? "-" : value, row->min,
                row->max, row->unit, row->when == SETTING_RUNTIME ? "runtime" : "startup",
                group_names[row->group], row->stat ? row->stat : "-", row->help);
    }
}
