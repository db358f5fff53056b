/* Reader of access traces: text, plain or gzip'd, one request a line: `key size` or `key`.
 * Holds one 64 KB window of the file. One thread at a time. */
#ifndef LOAD_TRACE_H
#define LOAD_TRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_LINE_MAX 512
#define TRACE_SIZE_MAX (UINT64_C(1) << 30) /* no server takes larger values */

enum trace_step { TRACE_LINE, TRACE_END, TRACE_BAD };

struct trace_line {
    const char *key; /* valid until the next call; at most 250 bytes, no blanks or controls */
    size_t key_bytes;
    bool has_size;
    uint64_t value_bytes;
};

struct trace;

/* NULL with one sentence in `why` when the file cannot be opened. "-" is standard input. */
struct trace *trace_open(const char *path, char *why, size_t why_bytes);

/* TRACE_BAD: trace_error() names the file, the line and what is wrong; nothing more can be read.
 * Empty lines are skipped. */
enum trace_step trace_next(struct trace *t, struct trace_line *out);
const char *trace_error(const struct trace *t);
void trace_close(struct trace **t);
#endif
