#include "server/config/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/rss.h"
#include "mem/arena.h"

static void *setting_place(struct settings *s, const struct setting *row) {
    return (char *)s + row->offset;
}

static void setting_put_number(struct settings *s, const struct setting *row, double number) {
    void *at = setting_place(s, row);
    switch (setting_types[row->type].stored) {
    case SETTING_STORED_BOOL: *(bool *)at = number != 0; break;
    case SETTING_STORED_INT: *(int *)at = (int)number; break;
    case SETTING_STORED_UINT64: *(uint64_t *)at = (uint64_t)number; break;
    case SETTING_STORED_DOUBLE: *(double *)at = number; break;
    case SETTING_STORED_TEXT:
    case SETTING_STORED_CHARS:
    case SETTING_STORED_NOT: break;
    }
}

static size_t setting_size(const struct setting *row) { return setting_types[row->type].bytes; }

void settings_init(struct settings *s) {
    memset(s, 0, sizeof *s);
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        setting_put_number(s, row, row->default_number);
        if (row->type == SETTING_TEXT) {
            *(const char **)setting_place(s, row) = row->default_text;
        } else if (setting_types[row->type].stored == SETTING_STORED_CHARS) {
            snprintf(setting_place(s, row), setting_size(row), "%s", row->default_text);
        }
    }
}

/* --- reading values --- */

bool setting_refuse(char *why, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, SETTING_WHY_BYTES, format, ap);
    va_end(ap);
    return false;
}

static bool setting_set_integer(struct settings *s, const struct setting *row, const char *text,
                                char *why) {
    bool    octal = row->type == SETTING_OCTAL;
    int64_t integer = 0;
    double  n = 0; /* base 10 also accepts 2.0 and 1e3: templates write whole numbers so */
    bool    is_number = octal ? number_integer(text, 8, &integer) : number_real(text, &n);
    n = octal ? (double)integer : n;
    if (!is_number || n != floor(n) || n < row->min || n > row->max) {
        return setting_refuse(why, octal ? "wants an octal number from %lo to %lo, not \"%s\""
                                 : "wants a whole number from %ld to %ld, not \"%s\"",
                      (long)row->min, (long)row->max, text);
    }
    setting_put_number(s, row, n);
    return true;
}

/* Adds the help text of the option, if the option's name and the whole text fit. */
static bool setting_refuse_choice(const struct setting *row, const char *text, char *why) {
    enum { NAME_BYTES = 66 };
    static const char format[] = "wants one of %s, not \"%.40s\" (%s)";
    int bytes = snprintf(NULL, 0, format, row->unit, text, row->help);
    bool fits = bytes < SETTING_WHY_BYTES - NAME_BYTES;
    return fits ? setting_refuse(why, format, row->unit, text, row->help)
                : setting_refuse(why, "wants one of %s, not \"%.40s\"", row->unit, text);
}

void setting_format_bytes(char to[32], double n) {
    const char *suffix = "\0kmgt";
    while (suffix[1] && n >= 1024 && fmod(n, 1024) == 0) {
        n /= 1024;
        suffix++;
    }
    snprintf(to, 32, "%.0f%.1s", n, suffix);
}

/* The bytes of a unit behind a number: k, Mi, GB and so on in either case, or `of_nothing` for no
 * unit. 0: not a unit. */
static double setting_unit_bytes(const char *text, double of_nothing) {
    static const char letters[] = "kmgtKMGT";
    text += strspn(text, " ");
    if (*text == '\0') {
        return of_nothing;
    }
    const char *at = strchr(letters, *text);
    text += 1 + (text[1] == 'i');
    text += *text == 'b' || *text == 'B';
    return at && *text == '\0' ? (double)((uint64_t)1 << (10 * ((at - letters) % 4 + 1))) : 0;
}

static bool setting_takes_share(const struct setting *row) {
    return row->offset == offsetof(struct settings, process_memory) ||
           row->offset == offsetof(struct settings, maxbytes);
}

/* Sets a number of bytes, which may have a fraction: 512.5 megabytes. */
static bool setting_set_bytes(struct settings *s, const struct setting *row, const char *text,
                              char *why) {
    const bool mega = row->type == SETTING_MEGABYTES, kilo = row->type == SETTING_KILOBYTES;
    double n = 0;
    size_t length = number_decimal(text, &n);
    double unit = setting_unit_bytes(text + length, mega ? 1 << 20 : kilo ? 1 << 10 : 1);
    double bytes = n * unit;
    bool is_part = bytes > 0 && bytes < 1; /* would be cut to 0, which means no limit */
    if (length == 0 || unit == 0 || is_part || !(bytes >= row->min && bytes <= row->max)) {
        char least[32], most[32];
        setting_format_bytes(least, row->min);
        setting_format_bytes(most, row->max);
        return setting_refuse(
            why, "wants a number of %sbytes, or one with k, m, g or t, from %s to %s%s, not \"%s\"",
            mega   ? "mega"
            : kilo ? "kilo"
                   : "",
            least, most, setting_takes_share(row) ? ", auto or 1% to 100%" : "", text);
    }
    setting_put_number(s, row, bytes);
    return true;
}

/* Sets "auto" or "75%": a share of the control group's limit, or else of the machine's memory. For
 * process_memory "auto" is the group's whole limit, or no limit. False: `text` is neither. */
static bool setting_set_share(struct settings *s, const struct setting *row, const char *text) {
    enum { AUTO_PCT = 75 };
    uint64_t pct = AUTO_PCT, group = rss_group_limit_bytes();
    bool     process = row->offset == offsetof(struct settings, process_memory),
         automatic = text != NULL && strcmp(text, "auto") == 0;
    if (text == NULL || !setting_takes_share(row)) {
        return false;
    }
    if (process && automatic) {
        s->process_memory = group;
        return true;
    }
    size_t digits = automatic ? 0 : number_digits(text, 10, &pct);
    if (!automatic && (digits == 0 || strcmp(text + digits, "%") != 0 || pct == 0 || pct > 100)) {
        return false;
    }
    uint64_t all = group > 0 ? group : rss_machine_bytes(),
             bytes = (all / 100 * pct + all % 100 * pct / 100) / SETTINGS_MIB * SETTINGS_MIB;
    if (bytes == 0 || (double)bytes < row->min || (double)bytes > row->max) {
        return false;
    }
    setting_put_number(s, row, (double)bytes);
    return true;
}

static bool setting_set_ratio(struct settings *s, const struct setting *row, const char *text,
                              char *why) {
    double n;
    if (!number_real(text, &n) || n < row->min || n > row->max) {
        return setting_refuse(why, "wants a number from %g to %g, not \"%s\"",
                              row->min, row->max, text);
    }
    setting_put_number(s, row, n);
    return true;
}

/* Finds `text` among the words of `choices`, which '|' separates. NULL: not found. */
static const char *setting_find_choice(const char *choices, const char *text) {
    size_t n = strlen(text);
    for (const char *at = choices; n > 0 && at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, text, n) == 0 && (at[n] == '|' || at[n] == '\0')) {
            return at;
        }
    }
    return NULL;
}

bool setting_is_yes(const char *text) { return setting_find_choice("yes|on|1|true", text) != NULL; }

static bool setting_set_flag(struct settings *s, const struct setting *row, const char *text,
                             bool cleared, char *why) {
    bool negated = row->type == SETTING_NEGATED || row->type == SETTING_NEGSWITCH;
    if (!text) { /* the option was given alone */
        setting_put_number(s, row, cleared == negated);
        return true;
    }
    bool yes = setting_is_yes(text);
    if (!yes && !setting_find_choice("no|off|0|false", text)) {
        return setting_refuse(why, "wants yes or no, not \"%s\"", text);
    }
    setting_put_number(s, row, yes);
    return true;
}

/* The first address replaces the default; each further address is appended behind a comma. */
static bool setting_set_list(struct settings *s, const struct setting *row, const char *text,
                             char *why) {
    char *list = setting_place(s, row);
    if (*text == '\0') {
        return setting_refuse(why, "wants %s, not nothing", row->unit);
    }
    size_t used = s->list_given ? strlen(list) : 0;
    if (used + strlen(text) + 2 > SETTING_LIST_BYTES) {
        return setting_refuse(why, "holds at most %d bytes in all", SETTING_LIST_BYTES - 2);
    }
    snprintf(list + used, SETTING_LIST_BYTES - used, "%s%s", used ? "," : "", text);
    for (char *at = list; (at = strpbrk(at, SETTING_LIST_SEPARATORS)) != NULL;) {
        *at++ = ',';
    }
    s->list_given = true;
    return true;
}

static bool setting_set_mode(struct settings *s, const struct setting *row, const char *text,
                             char *why) {
    const char *argument;
    const struct automove_mode *mode = automove_find(text, &argument);
    char list[SETTING_WHY_BYTES / 2], *at = setting_place(s, row);
    if (!mode) {
        automove_list(list, sizeof list);
        return setting_refuse(why, "wants 0, 1, 2 or one of %s, not \"%.80s\"", list, text);
    }
    memset(at, 0, setting_size(row)); /* settings are compared as bytes */
    automove_spell(mode, argument, at);
    return true;
}

void setting_put_choice(char *at, const char *text) {
    /* strncpy pads with zeros, because settings are compared as bytes */
    strncpy(at, text, SETTING_CHOICE_BYTES);
    at[SETTING_CHOICE_BYTES - 1] = '\0';
}

static bool setting_set_by_type(struct settings *s, const struct setting *row, const char *text,
                                bool cleared, char *why) {
    if (!text && !cleared && setting_takes_value(row) && row->type != SETTING_ACCEPTED) {
        return setting_refuse(why, "needs a value");
    }
    if (cleared && setting_takes_value(row) && row->min > 0) {
        return setting_refuse(why, "cannot be turned off");
    }
    switch ((enum setting_type)row->type) {
    case SETTING_FLAG:
    case SETTING_NEGATED:
    case SETTING_NEGSWITCH:
        return setting_set_flag(s, row, text, cleared, why);
    case SETTING_COUNT:
        if (!text) {
            int *count = setting_place(s, row);
            *count += *count < (int)row->max;
            return true;
        }
        return setting_set_integer(s, row, text, why);
    case SETTING_INT:
    case SETTING_OCTAL:
        return setting_set_integer(s, row, cleared ? "0" : text, why);
    case SETTING_BYTES:
    case SETTING_KILOBYTES:
    case SETTING_MEGABYTES:
        return setting_set_share(s, row, text) ||
               setting_set_bytes(s, row, cleared ? "0" : text, why);
    case SETTING_RATIO:
    case SETTING_RATIO3:
        return setting_set_ratio(s, row, cleared ? "0" : text, why);
    case SETTING_TEXT:
        if (cleared || *text == '\0') {
            return setting_refuse(why, "wants a %s", row->unit);
        }
        *(const char **)setting_place(s, row) = text;
        return true;
    case SETTING_CHOICE:
        if (cleared || !setting_find_choice(row->unit, text)) {
            return setting_refuse_choice(row, cleared ? "" : text, why);
        }
        setting_put_choice(setting_place(s, row), text);
        return true;
    case SETTING_MODE:
        return setting_set_mode(s, row, cleared ? "off" : text, why);
    case SETTING_LIST:
        return !cleared ? setting_set_list(s, row, text, why)
                        : setting_refuse(why, "cannot be turned off");
    case SETTING_ACCEPTED:
        if (text && strchr(row->unit, '|') && !setting_find_choice(row->unit, text)) {
            return setting_refuse(why, "wants one of %s, not \"%s\"", row->unit, text);
        }
        return true;
    case SETTING_ABSENT:
        if (cleared || (text && row->default_text && strcmp(text, row->default_text) == 0)) {
            return true;
        }
        return setting_refuse(why, "cannot be used: %s", row->help);
    case SETTING_ACTION:
        return true;
    }
    return true;
}

bool setting_set(struct settings *s, const struct setting *row, const char *text, bool cleared,
                 char *why) {
    if (!setting_set_by_type(s, row, text, cleared, why)) {
        return false;
    }
    /* these switches have no option of their own: another option's value sets them */
    const void *at = setting_place(s, row);
    if (at == &s->temporary_ttl) {
        s->temp_lru = s->temporary_ttl >= 0;
    } else if (at == &s->maxbytes) {
        s->maxbytes_given = true;
        s->maxbytes_share = text && (strchr(text, '%') || strcmp(text, "auto") == 0);
    } else if (at == &s->prefix_delimiter) {
        s->detail_enabled = true;
    } else if (at == s->policy) {
        s->lru_segmented = strcmp(s->policy, "lru") != 0;
    }
    return true;
}

bool setting_is_live(const struct settings *s, const struct setting *row) {
    return row->when == SETTING_RUNTIME && row->name &&
           (strncmp(row->name, "slab_", 5) != 0 || strcmp(s->store, "slab") == 0);
}

struct setting setting_live(const struct setting *row, size_t memory_most) {
    struct setting live = *row;
    if (row->type == SETTING_MEGABYTES || row->type == SETTING_KILOBYTES) {
        live.type = SETTING_BYTES;
    }
    if (row->offset == offsetof(struct settings, maxbytes)) {
        live.min = (double)SETTINGS_LIVE_MEMORY_MIN;
        live.max = (double)memory_most;
    }
    return live;
}

void setting_copy(struct settings *to, const struct settings *from, const struct setting *row) {
    memcpy(setting_place(to, row), (const char *)from + row->offset, setting_size(row));
}

bool setting_same(const struct settings *a, const struct settings *b, const struct setting *row) {
    return memcmp((const char *)a + row->offset, (const char *)b + row->offset,
                  setting_size(row)) == 0;
}

bool settings_same_live(const struct settings *a, const struct settings *b) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->when == SETTING_RUNTIME && !setting_same(a, b, row)) {
            return false;
        }
    }
    return true;
}
