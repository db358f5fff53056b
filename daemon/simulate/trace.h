/* Reader of access traces: text, plain or gzip'd, one request a line: `key` or `key size`, the
 * value's size in bytes.
 *
 * Lines come from outside, so none is trusted: a line that is no request is counted and skipped,
 * and the first such line is kept for a message. Empty lines are nothing. Damage of the file itself
 * ends the reading. Holds one window of 64 KiB of the file, however long that or a line of it is.
 * Threading: one thread at a time. */
#ifndef SLATE_SIMULATE_TRACE_H
#define SLATE_SIMULATE_TRACE_H
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_LINE_BYTES_MAX = 512, TRACE_WHY_BYTES = 512 };
#define TRACE_VALUE_BYTES_MAX (UINT32_C(1) << 30) /* no server takes larger values */

struct trace_request {
    /* 1 to KEY_BYTES_MAX bytes without blanks and control characters; valid until the next call */
    const char *key;
    uint8_t     key_bytes;
    bool        has_size;
    uint32_t    value_bytes; /* 0 without a size */
};

struct trace;

/* "-" is standard input. NULL: `why` (TRACE_WHY_BYTES) holds one sentence. */
struct trace *trace_open(const char *path, char *why);
/* takes the file also when it fails */
struct trace *trace_open_fd(int taken_fd, const char *name, char *why);
void          trace_close(struct trace **);

enum trace_step { TRACE_REQUEST, TRACE_END, TRACE_BROKEN };
/* TRACE_BROKEN: the file cannot be read on, and trace_error says why; what came before is good.
 * Both ends are final. */
enum trace_step trace_next(struct trace *, struct trace_request *);

uint64_t    trace_bad_lines(const struct trace *);
const char *trace_first_bad(const struct trace *); /* "line 7: …"; empty: none yet */
/* one sentence that names the file; empty: none */
const char *trace_error(const struct trace *);
#endif
