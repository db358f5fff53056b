/* The forms of access traces: which one a file has, and what a line or a record of it says. Pure;
 * any thread. */
#ifndef SLATE_SIMULATE_TRACE_FORMAT_H
#define SLATE_SIMULATE_TRACE_FORMAT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key.h"

enum { TRACE_LINE_BYTES_MAX = 512, TRACE_RECORD_BYTES = 24 };
#define TRACE_VALUE_BYTES_MAX (UINT32_C(1) << 30) /* no server takes larger values */
#define TRACE_TIME_MS_MAX     (UINT64_C(1) << 50) /* some 35,000 years */
#define TRACE_ONE_IN_MAX      (1 << 20)           /* of a sample, as by slatectl capture */
#define TRACE_TIMES_MAX       1000000             /* of a line that stands for many requests */

enum trace_format {
    TRACE_AUTO,     /* told by what the file holds */
    TRACE_KEYS,     /* lines of `key` or `key size` */
    TRACE_SLATE,    /* as slatectl capture writes it */
    TRACE_TWITTER,  /* CSV: time, key, key size, value size, client, operation, TTL */
    TRACE_CACHELIB, /* CSV whose first line names its columns, key and op among them */
    TRACE_ORACLE,   /* libCacheSim's oracleGeneral, records of 24 bytes */
    TRACE_FORMAT_COUNT
};

const char       *trace_format_name(enum trace_format);
enum trace_format trace_format_find(const char *name); /* TRACE_FORMAT_COUNT: there is none */
/* Whether its requests are of several kinds, and whether they have times. In a form without, each
 * request is a get and, on a miss, a set. */
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
    uint32_t    ttl_s;       /* of a set: seconds to live, 0: for ever */
    uint32_t    times;       /* so many alike, one after the other; at least 1 */
    uint64_t    time_ms;     /* since whatever; 0 in a form without times */
};

enum { TRACE_COLUMNS = 8 }; /* that have a meaning */
/* Of a file's form, and what its first line says of the others. */
struct trace_form {
    enum trace_format format;
    double  sample;      /* see trace_sample */
    bool    has_head;    /* the first line is one, and no request */
    uint8_t column[TRACE_COLUMNS]; /* where each column of a text is, counted from 1; 0: nowhere */
    uint8_t columns;     /* in all */
    char    key[KEY_BYTES_MAX + 1]; /* one that is not as it stands in the file */
};

/* By the first n bytes of a file, a window or all there is, of which the first line has line_bytes
 * without blanks behind it. TRACE_AUTO: the form is guessed. NULL: good; else what is wrong with
 * the first line. */
const char *trace_form_begin(struct trace_form *, enum trace_format, const char *bytes, size_t n,
                             size_t line_bytes);

/* A line that has neither blanks nor a carriage return at its ends, and is not empty; or a record
 * of TRACE_RECORD_BYTES. NULL: it is a request, or says nothing (key_bytes 0); else what is wrong
 * with it. */
const char *trace_form_line(struct trace_form *, const char *line, size_t n,
                            struct trace_request *);
const char *trace_form_record(struct trace_form *, const unsigned char *,
                              struct trace_request *);
#endif
