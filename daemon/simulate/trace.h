/* Reads access traces, plain or compressed by gzip or zstd. The file's contents show which of these
 * formats it has (simulate/trace_format.h):
 *
 *     keys      text: `key` or `key size`
 *     slate     text that `slatectl capture` writes, with times, operations and times to live
 *     twitter   Twitter's published traces: CSV of seven columns without a head
 *     cachelib  CacheLib's published traces: CSV whose first line names the columns
 *     oracle    libCacheSim's oracleGeneral: records of 24 bytes
 *
 * No file is trusted: a line or record that is no request is counted and skipped, and the first one
 * is saved for a message. Empty lines do not count. Damage of the file itself ends the reading.
 * Memory: a window of 64 KiB, for any length of the file or a line. Threading: one thread at a
 * time. */
#ifndef SLATE_SIMULATE_TRACE_H
#define SLATE_SIMULATE_TRACE_H
#include <stdbool.h>
#include <stdint.h>

#include "simulate/trace_format.h"

enum { TRACE_WHY_BYTES = 512 };

struct trace;

/* "-" is standard input. NULL: `why` (TRACE_WHY_BYTES) holds one sentence. */
struct trace *trace_open(const char *path, char *why);
/* Takes the descriptor, even on failure. */
struct trace *trace_open_fd(int taken_fd, const char *name, char *why);
void          trace_close(struct trace **);

/* Sets the format, before anything is read; then the format is not guessed. */
void trace_set_format(struct trace *, enum trace_format);

/* These functions read the beginning of the file if nothing was read yet. A broken file gives the
 * same as an empty file. */
enum trace_format trace_format(struct trace *);
/* The share of all keys in the trace, as the file says: above 0, at most 1. */
double            trace_sample(struct trace *);

enum trace_step { TRACE_REQUEST, TRACE_END, TRACE_BROKEN };
/* TRACE_BROKEN: the file cannot be read further, and trace_error has the reason; the requests
 * before are good. Both ends are final. */
enum trace_step trace_next(struct trace *, struct trace_request *);

uint64_t    trace_bad_lines(const struct trace *); /* or records */
const char *trace_first_bad(const struct trace *); /* "line 7: …"; empty: none yet */
/* one sentence with the file's name; empty: no error */
const char *trace_error(const struct trace *);
#endif
