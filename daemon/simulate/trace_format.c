#include "simulate/trace_format.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { FIELDS_MAX = 24, TWITTER_BEHIND_KEY = 5 };

struct field {
    const char *at;
    size_t      bytes;
};

static const char *const names[TRACE_FORMAT_COUNT] = {
#define TRACE_FORMAT_NAME(constant, name, help) [constant] = #name,
    TRACE_FORMATS(TRACE_FORMAT_NAME)};

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

/* --- parts of lines --- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool is_word(const struct field *f, const char *word) {
    return f->bytes == strlen(word) && memcmp(f->at, word, f->bytes) == 0;
}

/* The operations of all forms. False: none of them. */
static bool read_verb(const struct field *f, uint8_t *verb) {
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
        if (is_word(f, verbs[i].name)) {
            *verb = (uint8_t)verbs[i].verb;
            return true;
        }
    }
    return false;
}

/* Cuts a line up at its commas. Returns how many fields it has; those above FIELDS_MAX are counted
 * and not kept. */
static unsigned split(const char *line, size_t n, struct field *to) {
    unsigned count = 0;
    const char *at = line, *end = line + n;
    for (;;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (count < FIELDS_MAX) {
            to[count] = (struct field){at, (size_t)((comma != NULL ? comma : end) - at)};
        }
        count++;
        if (comma == NULL) {
            return count;
        }
        at = comma + 1;
    }
}

static const char *check_key(const struct field *f) {
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

static const char *read_bytes(const struct field *f, uint32_t *to) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->bytes; i++) {
        if (f->at[i] < '0' || f->at[i] > '9') {
            return "the size is no number";
        }
        bytes = bytes * 10 + (uint64_t)(f->at[i] - '0');
        if (bytes > TRACE_VALUE_BYTES_MAX) {
            return "the size is larger than 1 GiB";
        }
    }
    *to = (uint32_t)bytes;
    return f->bytes > 0 ? NULL : "the size is no number";
}

/* As long as the key was before it was made unreadable, where it has become shorter: with one '!'
 * and then dots behind it, so that no two keys become the same. */
static void put_key(struct trace_form *form, const struct field *key, uint32_t key_bytes,
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

/* Seconds, of which some traces have parts. */
static bool read_time_s(const struct field *f, uint64_t *time_ms) {
    const char *dot = memchr(f->at, '.', f->bytes);
    size_t whole = dot != NULL ? (size_t)(dot - f->at) : f->bytes, parts = f->bytes - whole;
    uint64_t seconds, thousandths = 0;
    if (!number_u64(f->at, whole, &seconds) || seconds > TRACE_TIME_MS_MAX / 1000) {
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

/* --- keys --- */

static const char *keys_line(const char *p, size_t n, struct trace_request *to) {
    const char *end = p + n, *key = p;
    while (p < end && !is_blank(*p)) {
        p++;
    }
    struct field name = {key, (size_t)(p - key)};
    const char *wrong = check_key(&name);
    if (wrong != NULL) {
        return wrong;
    }
    to->key = key;
    to->key_bytes = (uint8_t)name.bytes;
    while (p < end && is_blank(*p)) {
        p++;
    }
    to->has_size = p < end;
    for (const char *q = p; q < end; q++) {
        if (*q < '0' || *q > '9') {
            return "it is neither `key` nor `key size`";
        }
    }
    return to->has_size ? read_bytes(&(struct field){p, (size_t)(end - p)}, &to->value_bytes)
                        : NULL;
}

/* --- slate: `# slate trace 1 sample=1/64 …`, then `milliseconds verb key size ttl class` --- */

static const char slate_head[] = "# slate trace ";
enum { SLATE_FIELDS = 6 };

static const char *slate_begin(struct trace_form *form, const char *line, size_t n) {
    static const char sample[] = " sample=1/";
    size_t head = sizeof slate_head - 1;
    if (n < head || memcmp(line, slate_head, head) != 0) {
        return "it does not begin with `# slate trace`";
    }
    if (n == head || line[head] != '1' || (n > head + 1 && !is_blank(line[head + 1]))) {
        return "this version of Slate reads version 1 of its traces";
    }
    const char *at = memmem(line, n, sample, sizeof sample - 1);
    if (at != NULL) {
        uint32_t one_in;
        at += sizeof sample - 1;
        size_t digits = 0;
        while (at + digits < line + n && !is_blank(at[digits])) {
            digits++;
        }
        if (!number_u32(at, digits, &one_in) || one_in == 0 || one_in > TRACE_ONE_IN_MAX) {
            return "its sample is not written as 1/64, at most 1/1048576";
        }
        form->sample = 1.0 / one_in;
    }
    return NULL;
}

static const char *slate_line(const char *p, size_t n, struct trace_request *to) {
    static const char shape[] = "it is not `milliseconds verb key size ttl class`";
    struct field f[SLATE_FIELDS];
    const char *end = p + n;
    if (*p == '#') {
        return NULL; /* a remark */
    }
    for (unsigned i = 0; i < SLATE_FIELDS; i++) {
        while (p < end && is_blank(*p)) {
            p++;
        }
        f[i].at = p;
        while (p < end && !is_blank(*p)) {
            p++;
        }
        f[i].bytes = (size_t)(p - f[i].at);
    }
    if (f[SLATE_FIELDS - 1].bytes == 0 || p < end) {
        return shape;
    }
    if (!number_u64(f[0].at, f[0].bytes, &to->time_ms) || to->time_ms > TRACE_TIME_MS_MAX ||
        (!is_word(&f[4], "-") && !number_u32(f[4].at, f[4].bytes, &to->ttl_s))) {
        return shape;
    }
    if (!read_verb(&f[1], &to->verb)) {
        return "its verb is not one of get, set and delete";
    }
    const char *wrong = check_key(&f[2]);
    to->has_size = !is_word(&f[3], "-");
    if (wrong == NULL && to->has_size) {
        wrong = read_bytes(&f[3], &to->value_bytes);
    }
    if (wrong == NULL) {
        to->key = f[2].at;
        to->key_bytes = (uint8_t)f[2].bytes;
    }
    return wrong;
}

/* --- Twitter: time, key, key size, value size, client, operation, TTL. Keys may have commas --- */

static const char *twitter_line(struct trace_form *form, const char *p, size_t n,
                                struct trace_request *to) {
    static const char shape[] =
        "it is not `time,key,key size,value size,client,operation,TTL`";
    struct field all[FIELDS_MAX];
    unsigned count = split(p, n, all);
    if (count < 2 + TWITTER_BEHIND_KEY || count > FIELDS_MAX) {
        return shape;
    }
    const struct field *behind = &all[count - TWITTER_BEHIND_KEY];
    const struct field key = {all[1].at, (size_t)(behind[0].at - 1 - all[1].at)};
    uint32_t key_bytes;
    if (!read_time_s(&all[0], &to->time_ms) ||
        !number_u32(behind[0].at, behind[0].bytes, &key_bytes) ||
        !number_u32(behind[4].at, behind[4].bytes, &to->ttl_s)) {
        return shape;
    }
    if (!read_verb(&behind[3], &to->verb)) {
        return "its operation is not known";
    }
    const char *wrong = check_key(&key);
    if (wrong == NULL) {
        wrong = read_bytes(&behind[1], &to->value_bytes);
    }
    if (wrong == NULL) {
        /* of a get that found nothing, and of a delete, no size is known: 0 */
        to->has_size = to->value_bytes > 0 || to->verb == TRACE_SET;
        put_key(form, &key, key_bytes, to);
    }
    return wrong;
}

/* --- CacheLib: columns as the first line names them --- */

enum { COLUMN_KEY, COLUMN_OP, COLUMN_SIZE, COLUMN_COUNT, COLUMN_KEY_SIZE, COLUMN_TTL, COLUMN_TIME,
       COLUMNS };
static const char *const columns[COLUMNS] = {"key",      "op",  "size",   "op_count",
                                             "key_size", "ttl", "op_time"};
_Static_assert(COLUMNS <= sizeof((struct trace_form *)0)->column, "each has its place");

static bool find_columns(const char *line, size_t n, uint8_t to[COLUMNS]) {
    struct field all[FIELDS_MAX];
    unsigned count = split(line, n, all);
    memset(to, 0, COLUMNS);
    for (unsigned i = 0; i < count && i < FIELDS_MAX; i++) {
        for (unsigned c = 0; c < COLUMNS; c++) {
            if (to[c] == 0 && is_word(&all[i], columns[c])) {
                to[c] = (uint8_t)(i + 1);
            }
        }
    }
    return count <= FIELDS_MAX && to[COLUMN_KEY] > 0 && to[COLUMN_OP] > 0;
}

/* A number of a column; 0 where there is none or nothing in it. False: it is no number. */
static bool column_number(const struct trace_form *form, const struct field *all, unsigned column,
                          uint32_t *to) {
    *to = 0;
    const struct field *f = form->column[column] > 0 ? &all[form->column[column] - 1] : NULL;
    return f == NULL || f->bytes == 0 || number_u32(f->at, f->bytes, to);
}

static const char *cachelib_line(struct trace_form *form, const char *p, size_t n,
                                 struct trace_request *to) {
    struct field all[FIELDS_MAX];
    unsigned count = split(p, n, all);
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (form->column[c] > count) {
            return "it has fewer columns than the first line names";
        }
    }
    uint32_t key_bytes;
    const struct field *key = &all[form->column[COLUMN_KEY] - 1];
    const struct field *time =
        form->column[COLUMN_TIME] > 0 ? &all[form->column[COLUMN_TIME] - 1] : NULL;
    const char *wrong = check_key(key);
    if (wrong != NULL) {
        return wrong;
    }
    if (!read_verb(&all[form->column[COLUMN_OP] - 1], &to->verb)) {
        return "its operation is not known";
    }
    if (!column_number(form, all, COLUMN_TTL, &to->ttl_s) ||
        !column_number(form, all, COLUMN_KEY_SIZE, &key_bytes) ||
        !column_number(form, all, COLUMN_COUNT, &to->times) ||
        (time != NULL && !read_time_s(time, &to->time_ms))) {
        return "a column that holds numbers has something else";
    }
    if (to->times > TRACE_TIMES_MAX) {
        return "it stands for more than a million requests";
    }
    to->times += to->times == 0;
    const struct field *size =
        form->column[COLUMN_SIZE] > 0 ? &all[form->column[COLUMN_SIZE] - 1] : NULL;
    if (size != NULL && size->bytes > 0) {
        wrong = read_bytes(size, &to->value_bytes);
        to->has_size = wrong == NULL && (to->value_bytes > 0 || to->verb == TRACE_SET);
    }
    if (wrong == NULL) {
        put_key(form, key, key_bytes, to);
    }
    return wrong;
}

/* --- libCacheSim's oracleGeneral: u32 time in seconds, u64 object, u32 size, i64 next access, all
 * little endian --- */

static uint64_t little(const unsigned char *p, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;) {
        value = value << 8 | p[i];
    }
    return value;
}

const char *trace_form_record(struct trace_form *form, const unsigned char *p,
                              struct trace_request *to) {
    uint64_t bytes = little(p + 12, 4);
    *to = (struct trace_request){.times = 1, .time_ms = little(p, 4) * 1000};
    if (bytes > TRACE_VALUE_BYTES_MAX) {
        return "the size is larger than 1 GiB";
    }
    if (bytes == 0) {
        return NULL; /* libCacheSim passes over these likewise */
    }
    int key_bytes = snprintf(form->key, sizeof form->key, "%llx",
                             (unsigned long long)little(p + 4, 8));
    to->key = form->key;
    to->key_bytes = (uint8_t)key_bytes;
    to->has_size = true;
    to->value_bytes = (uint32_t)bytes;
    return NULL;
}

/* Whether bytes may be such records: times that never go back, and sizes that a cache may hold. */
static bool seems_oracle(const char *bytes, size_t n) {
    const unsigned char *p = (const unsigned char *)bytes;
    uint64_t before = 0;
    size_t   count = n / TRACE_RECORD_BYTES;
    if (count == 0 || memchr(bytes, '\0', n) == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++, p += TRACE_RECORD_BYTES) {
        uint64_t time_s = little(p, 4);
        int64_t  next = (int64_t)little(p + 16, 8);
        if (time_s < before || little(p + 12, 4) > TRACE_VALUE_BYTES_MAX || next < -2) {
            return false;
        }
        before = time_s;
    }
    return true;
}

/* --- the whole --- */

enum trace_format trace_format_guess(const char *bytes, size_t n) {
    const char *newline = memchr(bytes, '\n', n);
    size_t line = newline != NULL ? (size_t)(newline - bytes) : n;
    struct trace_form form = {0};
    struct trace_request q = {.times = 1};
    line -= line > 0 && bytes[line - 1] == '\r';
    if (line >= sizeof slate_head - 1 && memcmp(bytes, slate_head, sizeof slate_head - 1) == 0) {
        return TRACE_SLATE;
    }
    if (seems_oracle(bytes, n)) {
        return TRACE_ORACLE;
    }
    if (find_columns(bytes, line, form.column)) {
        return TRACE_CACHELIB;
    }
    return line > 0 && twitter_line(&form, bytes, line, &q) == NULL ? TRACE_TWITTER : TRACE_KEYS;
}

const char *trace_form_begin(struct trace_form *form, enum trace_format format, const char *line,
                             size_t n) {
    *form = (struct trace_form){.format = format, .sample = 1};
    form->has_head = format == TRACE_SLATE || format == TRACE_CACHELIB;
    if (format == TRACE_SLATE) {
        return slate_begin(form, line, n);
    }
    return format == TRACE_CACHELIB && !find_columns(line, n, form->column)
               ? "it does not name the columns key and op"
               : NULL;
}

const char *trace_form_line(struct trace_form *form, const char *line, size_t n,
                            struct trace_request *to) {
    *to = (struct trace_request){.times = 1};
    const char *wrong = NULL;
    switch (form->format) {
    case TRACE_SLATE: wrong = slate_line(line, n, to); break;
    case TRACE_TWITTER: wrong = twitter_line(form, line, n, to); break;
    case TRACE_CACHELIB: wrong = cachelib_line(form, line, n, to); break;
    case TRACE_AUTO:
    case TRACE_KEYS:
    case TRACE_ORACLE:
    case TRACE_FORMAT_COUNT: wrong = keys_line(line, n, to); break;
    }
    return wrong;
}
