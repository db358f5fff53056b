/* Formats of access traces: detects a file's format, and reads a line or a record. Pure; any
 * thread. */
#ifndef SLATE_SIMULATE_TRACE_FORMAT_H
#define SLATE_SIMULATE_TRACE_FORMAT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key.h"

enum { TRACE_LINE_BYTES_MAX = 512, TRACE_RECORD_BYTES = 24 };
#define TRACE_VALUE_BYTES_MAX (UINT32_C(1) << 30) /* no server takes larger values */
#define TRACE_TIME_MS_MAX     (UINT64_C(1) << 50) /* some 35,000 years */
#define TRACE_ONE_IN_MAX      (1 << 20)           /* of a sample, as slatectl capture accepts */
#define TRACE_TIMES_MAX       1000000             /* of a line that stands for many requests */

enum trace_format {
    TRACE_AUTO,     /* by the file's contents */
    TRACE_KEYS,     /* lines of `key` or `key size` */
    TRACE_SLATE,    /* written by slatectl capture */
    TRACE_TWITTER,  /* CSV: time, key, key size, value size, client, operation, TTL */
    TRACE_CACHELIB, /* CSV whose first line names its columns, among them key and op */
    TRACE_ORACLE,   /* libCacheSim's oracleGeneral, records of 24 bytes */
    TRACE_FORMAT_COUNT
};

const char       *trace_format_name(enum trace_format);
enum trace_format trace_format_find(const char *name); /* TRACE_FORMAT_COUNT: unknown */
/* has_verbs: requests are of several kinds; otherwise each request is a get and, on a miss, a set.
 * has_times: requests have times. */
bool trace_format_has_verbs(enum trace_format);
bool trace_format_has_times(enum trace_format);

enum trace_verb { TRACE_GET, TRACE_SET, TRACE_DELETE };

struct trace_request {
    /* 1 to KEY_BYTES_MAX bytes without blanks and control characters; valid until the next call */
    const char *key;
    uint8_t     key_bytes;
    uint8_t     verb;        /* enum trace_verb */
    bool        has_size;
    uint32_t    value_bytes; /* 0 without a size */
    uint32_t    ttl_s;       /* of a set: seconds to live; 0: for ever */
    uint32_t    times;       /* number of equal requests in a row; at least 1 */
    uint64_t    time_ms;     /* from any start; 0 without times */
};

enum { TRACE_COLUMNS = 8 }; /* columns with a meaning */
/* A file's format, and the contents of its first line. */
struct trace_form {
    enum trace_format format;
    double  sample;      /* see trace_sample */
    bool    has_head;    /* the first line is a head line, not a request */
    uint8_t column[TRACE_COLUMNS]; /* position of each column, counted from 1; 0: absent */
    uint8_t columns;     /* number of columns */
    char    key[KEY_BYTES_MAX + 1]; /* a key that differs from the file's text */
};

/* Begins with the first n bytes of a file: a window, or the complete file. line_bytes is the length
 * of the first line without trailing blanks. TRACE_AUTO: guesses the format. Returns NULL, or the
 * error of the first line. */
const char *trace_form_begin(struct trace_form *, enum trace_format, const char *bytes, size_t n,
                             size_t line_bytes);

/* Reads a line without blanks or carriage return at its ends, not empty; or a record of
 * TRACE_RECORD_BYTES. Returns NULL for a request, or for a line without one (key_bytes 0); else the
 * error. */
const char *trace_form_line(struct trace_form *, const char *line, size_t n,
                            struct trace_request *);
const char *trace_form_record(struct trace_form *, const unsigned char *,
                              struct trace_request *);
#endif
