#include "simulate/trace_format.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { FIELDS_MAX = 24 };

struct field {
    const char *at;
    size_t      bytes;
};

static const char *const names[TRACE_FORMAT_COUNT] = {"auto",    "keys",     "slate",
                                                      "twitter", "cachelib", "oracle"};

const char *trace_format_name(enum trace_format f) { return names[f]; }

enum trace_format trace_format_find(const char *name) {
    enum trace_format f = TRACE_AUTO;
    while (f < TRACE_FORMAT_COUNT && strcmp(names[f], name) != 0) {
        f++;
    }
    return f;
}

bool trace_format_has_verbs(enum trace_format f) {
    return f == TRACE_SLATE || f == TRACE_TWITTER || f == TRACE_CACHELIB;
}

bool trace_format_has_times(enum trace_format f) { return f > TRACE_KEYS; }

/* --- text: lines of columns --- */

enum column {
    COLUMN_KEY, COLUMN_OP, COLUMN_SIZE, COLUMN_TTL, COLUMN_TIME_S, COLUMN_TIME_MS, COLUMN_KEY_SIZE,
    COLUMN_COUNT, COLUMNS
};
_Static_assert((int)COLUMNS == (int)TRACE_COLUMNS, "each has its place");
static const struct {
    const char *name;
    enum column column;
} column_names[] = {
    {"key", COLUMN_KEY},          {"op", COLUMN_OP},           {"size", COLUMN_SIZE},
    {"ttl", COLUMN_TTL},          {"op_time", COLUMN_TIME_S},  {"milliseconds", COLUMN_TIME_MS},
    {"op_count", COLUMN_COUNT},   {"key_size", COLUMN_KEY_SIZE},
};

/* The columns of each format. */
static const struct text {
    char        separator; /* ' ': any number of blanks */
    uint8_t     least;     /* least number of columns */
    const char *columns;   /* names of the columns; NULL: the first line has them */
    /* the error if the columns of a line are not these, or a column of numbers has no number */
    const char *wrong;
} texts[TRACE_FORMAT_COUNT] = {
    [TRACE_KEYS] = {' ', 1, "key size", "it is neither `key` nor `key size`"},
    [TRACE_SLATE] = {' ', 6, "milliseconds op key size ttl class",
                     "it is not `milliseconds verb key size ttl class`"},
    [TRACE_TWITTER] = {',', 7, "op_time,key,key_size,size,client,op,ttl",
                       "it is not `time,key,key size,value size,client,operation,TTL`"},
    [TRACE_CACHELIB] = {',', 0, NULL, "a column that holds numbers has something else"},
};

static const char slate_head[] = "# slate trace ";
/* First lines of a recording; a truncated recording may begin with a change. */
static const char *const recording_heads[] = {"{\"schema\":\"slate/snapshot/",
                                              "{\"schema\":\"slate/change/"};

static bool format_is_blank(char c) { return c == ' ' || c == '\t'; }

static bool format_is_word(const struct field *f, const char *word) {
    return f->bytes == strlen(word) && memcmp(f->at, word, f->bytes) == 0;
}

/* Splits a line into columns. Returns their number; columns above FIELDS_MAX are counted but not
 * written. */
static unsigned format_split(const char *at, size_t n, char separator, struct field *to) {
    const char *end = at + n;
    for (unsigned count = 0;; at++) {
        while (separator == ' ' && at < end && format_is_blank(*at)) {
            at++;
        }
        const char *start = at;
        while (at < end && !(separator == ' ' ? format_is_blank(*at) : *at == separator)) {
            at++;
        }
        if (count < FIELDS_MAX) {
            to[count] = (struct field){start, (size_t)(at - start)};
        }
        count++;
        if (at == end) {
            return count;
        }
    }
}

/* Finds the columns by their names. False: there is no column `key`, or no `op`. */
static bool format_name_columns(struct trace_form *form, char separator, const char *line,
                                size_t n) {
    struct field all[FIELDS_MAX];
    unsigned count = format_split(line, n, separator, all);
    memset(form->column, 0, sizeof form->column);
    form->columns = (uint8_t)(count < FIELDS_MAX ? count : FIELDS_MAX);
    for (unsigned i = 0; i < form->columns; i++) {
        for (size_t c = 0; c < sizeof column_names / sizeof *column_names; c++) {
            uint8_t *column = &form->column[column_names[c].column];
            if (*column == 0 && format_is_word(&all[i], column_names[c].name)) {
                *column = (uint8_t)(i + 1);
            }
        }
    }
    return count <= FIELDS_MAX && form->column[COLUMN_KEY] > 0 && form->column[COLUMN_OP] > 0;
}

/* The operations of all formats. False: unknown. */
static bool format_read_verb(const struct field *f, uint8_t *verb) {
    static const struct {
        const char     *name;
        enum trace_verb verb;
    } verbs[] = {
        {"get", TRACE_GET},        {"gets", TRACE_GET},      {"set", TRACE_SET},
        {"delete", TRACE_DELETE},  {"add", TRACE_SET},       {"replace", TRACE_SET},
        {"cas", TRACE_SET},        {"append", TRACE_SET},    {"prepend", TRACE_SET},
        {"incr", TRACE_GET},       {"decr", TRACE_GET},      {"GET", TRACE_GET},
        {"GET_LEASE", TRACE_GET},  {"SET", TRACE_SET},       {"SET_LEASE", TRACE_SET},
        {"DELETE", TRACE_DELETE},  {"get_lease", TRACE_GET}, {"set_lease", TRACE_SET},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (format_is_word(f, verbs[i].name)) {
            *verb = (uint8_t)verbs[i].verb;
            return true;
        }
    }
    return false;
}

static const char *format_check_key(const struct field *f) {
    if (f->bytes == 0) {
        return "the key is empty";
    }
    for (size_t i = 0; i < f->bytes; i++) {
        if ((unsigned char)f->at[i] < 0x20 || f->at[i] == 0x7f) {
            return "the key holds a control character";
        }
        if (f->at[i] == ' ') {
            return "the key holds a blank";
        }
    }
    return f->bytes > KEY_BYTES_MAX ? "the key is longer than 250 bytes" : NULL;
}

/* Reads a whole number; a number larger than `most` is read as `most` + 1. */
static bool format_read_number(const struct field *f, uint64_t most, uint64_t *to) {
    *to = 0;
    for (size_t i = 0; i < f->bytes; i++) {
        if (f->at[i] < '0' || f->at[i] > '9') {
            return false;
        }
        *to = *to * 10 + (uint64_t)(f->at[i] - '0');
        *to = *to <= most ? *to : most + 1;
    }
    return f->bytes > 0;
}

/* Reads seconds, of which some traces have fractions. */
static bool format_read_time_s(const struct field *f, uint64_t *time_ms) {
    const char *dot = memchr(f->at, '.', f->bytes);
    size_t whole_digits = dot != NULL ? (size_t)(dot - f->at) : f->bytes,
           parts = f->bytes - whole_digits;
    uint64_t seconds, thousandths = 0;
    if (!number_u64(f->at, whole_digits, &seconds) || seconds > TRACE_TIME_MS_MAX / 1000) {
        return false;
    }
    uint64_t worth = 100;
    for (size_t i = 1; i < parts; i++, worth /= 10) {
        if (dot[i] < '0' || dot[i] > '9') {
            return false;
        }
        thousandths += (uint64_t)(dot[i] - '0') * worth;
    }
    *time_ms = seconds * 1000 + thousandths;
    return true;
}

/* Pads a key that anonymizing has made shorter to its former length: with one '!' and then dots, so
 * that different keys stay different. */
static void format_put_key(struct trace_form *form, const struct field *key, uint32_t key_bytes,
                           struct trace_request *to) {
    to->key = key->at;
    to->key_bytes = (uint8_t)key->bytes;
    if (key_bytes > key->bytes && key_bytes <= KEY_BYTES_MAX) {
        memcpy(form->key, key->at, key->bytes);
        form->key[key->bytes] = '!';
        memset(form->key + key->bytes + 1, '.', key_bytes - key->bytes - 1);
        to->key = form->key;
        to->key_bytes = (uint8_t)key_bytes;
    }
}

/* Reads the columns of numbers. An empty column, or `-`, is unknown. */
static const char *format_read_numbers(const struct trace_form *form, const struct field *of,
                                       struct trace_request *to, uint32_t *key_bytes) {
    const char *wrong = texts[form->format].wrong;
    uint64_t number[COLUMNS] = {0};
    bool     known[COLUMNS] = {false};
    for (unsigned c = COLUMN_SIZE; c < COLUMNS; c++) {
        const struct field *f = &of[c];
        known[c] = f->bytes > 0 && !(form->format == TRACE_SLATE && format_is_word(f, "-"));
        if (known[c] &&
            !(c == COLUMN_TIME_S ? format_read_time_s(f, &number[c])
                                 : format_read_number(f, TRACE_TIME_MS_MAX, &number[c]))) {
            return wrong;
        }
    }
    if (number[COLUMN_SIZE] > TRACE_VALUE_BYTES_MAX) {
        return "the size is larger than 1 GiB";
    }
    if (number[COLUMN_COUNT] > TRACE_TIMES_MAX) {
        return "it stands for more than a million requests";
    }
    if (number[COLUMN_TTL] > UINT32_MAX || number[COLUMN_KEY_SIZE] > UINT32_MAX ||
        number[COLUMN_TIME_MS] > TRACE_TIME_MS_MAX) {
        return wrong;
    }
    *key_bytes = (uint32_t)number[COLUMN_KEY_SIZE];
    to->value_bytes = (uint32_t)number[COLUMN_SIZE];
    to->ttl_s = (uint32_t)number[COLUMN_TTL];
    to->times = number[COLUMN_COUNT] > 0 ? (uint32_t)number[COLUMN_COUNT] : 1;
    to->time_ms = number[COLUMN_TIME_S] + number[COLUMN_TIME_MS];
    /* published traces have size 0 for deletes, and for gets that found nothing */
    bool unknown_is_0 = texts[form->format].separator == ',' && to->verb != TRACE_SET;
    to->has_size = known[COLUMN_SIZE] && (to->value_bytes > 0 || !unknown_is_0);
    return NULL;
}

const char *trace_form_line(struct trace_form *form, const char *line, size_t n,
                            struct trace_request *to) {
    const struct text *text = &texts[form->format];
    struct field all[FIELDS_MAX], of[COLUMNS] = {{0}};
    uint32_t key_bytes = 0;
    *to = (struct trace_request){.times = 1};
    if (form->format == TRACE_SLATE && *line == '#') {
        return NULL; /* a remark */
    }
    unsigned count = format_split(line, n, text->separator, all), beyond = 0;
    if (form->format == TRACE_TWITTER && count > form->columns && count <= FIELDS_MAX) {
        beyond = count - form->columns; /* keys may contain commas */
    } else if (text->columns != NULL && (count < text->least || count > form->columns)) {
        return text->wrong;
    }
    for (unsigned c = 0; c < COLUMNS; c++) {
        unsigned place = form->column[c];
        place += place > form->column[COLUMN_KEY] ? beyond : 0;
        if (place > count && text->columns == NULL) {
            return "it has fewer columns than the first line names";
        }
        of[c] = place > 0 && place <= count ? all[place - 1] : (struct field){"", 0};
    }
    struct field *key = &of[COLUMN_KEY];
    key->bytes = (size_t)(all[form->column[COLUMN_KEY] - 1 + beyond].at - key->at) +
                 all[form->column[COLUMN_KEY] - 1 + beyond].bytes;
    const char *wrong = format_check_key(key);
    if (wrong == NULL && form->column[COLUMN_OP] > 0 &&
        !format_read_verb(&of[COLUMN_OP], &to->verb)) {
        wrong = form->format == TRACE_SLATE ? "its verb is not one of get, set and delete"
                                            : "its operation is not known";
    }
    if (wrong == NULL) {
        wrong = format_read_numbers(form, of, to, &key_bytes);
    }
    if (wrong == NULL) {
        format_put_key(form, key, key_bytes, to);
    }
    return wrong;
}

/* `# slate trace 1 sample=1/64 …` */
static const char *format_read_slate_head(struct trace_form *form, const char *line, size_t n) {
    static const char sample[] = " sample=1/";
    size_t head = sizeof slate_head - 1;
    if (n < head || memcmp(line, slate_head, head) != 0) {
        return "it does not begin with `# slate trace`";
    }
    if (n == head || line[head] != '1' || (n > head + 1 && !format_is_blank(line[head + 1]))) {
        return "this version of Slate reads version 1 of its traces";
    }
    const char *at = memmem(line, n, sample, sizeof sample - 1);
    if (at != NULL) {
        uint32_t one_in;
        at += sizeof sample - 1;
        size_t digits = 0;
        while (at + digits < line + n && !format_is_blank(at[digits])) {
            digits++;
        }
        if (!number_u32(at, digits, &one_in) || one_in == 0 || one_in > TRACE_ONE_IN_MAX) {
            return "its sample is not written as 1/64, at most 1/1048576";
        }
        form->sample = 1.0 / one_in;
    }
    return NULL;
}

/* --- libCacheSim's oracleGeneral: u32 time in seconds, u64 object, u32 size, i64 next access, all
 * little endian --- */

static uint64_t format_little_endian(const unsigned char *p, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;) {
        value = value << 8 | p[i];
    }
    return value;
}

const char *trace_form_record(struct trace_form *form, const unsigned char *p,
                              struct trace_request *to) {
    uint64_t bytes = format_little_endian(p + 12, 4);
    *to = (struct trace_request){.times = 1, .time_ms = format_little_endian(p, 4) * 1000};
    if (bytes > TRACE_VALUE_BYTES_MAX) {
        return "the size is larger than 1 GiB";
    }
    if (bytes == 0) {
        return NULL; /* libCacheSim skips such records, too */
    }
    int key_bytes = snprintf(form->key, sizeof form->key, "%llx",
                             (unsigned long long)format_little_endian(p + 4, 8));
    to->key = form->key;
    to->key_bytes = (uint8_t)key_bytes;
    to->has_size = true;
    to->value_bytes = (uint32_t)bytes;
    return NULL;
}

/* True if the bytes may be such records: times never go back, and sizes fit a cache. */
static bool format_seems_oracle(const char *bytes, size_t n) {
    const unsigned char *p = (const unsigned char *)bytes;
    uint64_t before = 0;
    size_t   count = n / TRACE_RECORD_BYTES;
    if (count == 0 || memchr(bytes, '\0', n) == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++, p += TRACE_RECORD_BYTES) {
        uint64_t time_s = format_little_endian(p, 4);
        int64_t  next = (int64_t)format_little_endian(p + 16, 8);
        if (time_s < before || format_little_endian(p + 12, 4) > TRACE_VALUE_BYTES_MAX ||
            next < -2) {
            return false;
        }
        before = time_s;
    }
    return true;
}

/* --- formats --- */

/* Sets the format, and reads a head line if the format has one. Returns NULL, or the error. */
static const char *format_take(struct trace_form *form, enum trace_format format, const char *line,
                               size_t n) {
    const char *columns = texts[format].columns;
    *form = (struct trace_form){.format = format, .sample = 1,
                                .has_head = format == TRACE_SLATE || format == TRACE_CACHELIB};
    if (columns != NULL) {
        format_name_columns(form, texts[format].separator, columns, strlen(columns));
    }
    return format == TRACE_SLATE ? format_read_slate_head(form, line, n)
           : format == TRACE_CACHELIB && !format_name_columns(form, ',', line, n)
               ? "it does not name the columns key and op"
               : NULL;
}

static enum trace_format format_guess(const char *bytes, size_t n, size_t line) {
    struct trace_form form;
    struct trace_request q;
    if (line >= sizeof slate_head - 1 && memcmp(bytes, slate_head, sizeof slate_head - 1) == 0) {
        return TRACE_SLATE;
    }
    if (format_seems_oracle(bytes, n)) {
        return TRACE_ORACLE;
    }
    if (format_take(&form, TRACE_CACHELIB, bytes, line) == NULL) {
        return TRACE_CACHELIB;
    }
    format_take(&form, TRACE_TWITTER, bytes, line);
    return line > 0 && trace_form_line(&form, bytes, line, &q) == NULL ? TRACE_TWITTER : TRACE_KEYS;
}

const char *trace_form_begin(struct trace_form *form, enum trace_format requested,
                             const char *bytes, size_t n, size_t line) {
    for (size_t i = 0; i < sizeof recording_heads / sizeof *recording_heads; i++) {
        size_t head = strlen(recording_heads[i]);
        if (line >= head && memcmp(bytes, recording_heads[i], head) == 0) {
            return "this is a recording of slatectl; a recording is for `slatectl policy run NAME "
                   "--recording FILE`, and `slatectl capture -o day.trace.gz` makes a trace";
        }
    }
    return format_take(form, requested != TRACE_AUTO ? requested : format_guess(bytes, n, line),
                       bytes, line);
}
