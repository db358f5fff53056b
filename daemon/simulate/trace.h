/* Reader of access traces, plain, gzip'd or packed by zstd, of any of these forms
 * (simulate/trace_format.h), which are told apart by what the file holds:
 *
 *     keys      text: `key` or `key size`
 *     slate     text that `slatectl capture` writes, with times, operations and times to live
 *     twitter   Twitter's published traces: CSV of seven columns without a head
 *     cachelib  CacheLib's published traces: CSV whose first line names the columns
 *     oracle    libCacheSim's oracleGeneral: records of 24 bytes
 *
 * Files come from outside, so none is trusted: a line or record that is no request is counted and
 * skipped, and the first such is kept for a message. Empty lines are nothing. Damage of the file
 * itself ends the reading. Holds one window of 64 KiB of the file, however long that or a line of
 * it is. Threading: one thread at a time. */
#ifndef SLATE_SIMULATE_TRACE_H
#define SLATE_SIMULATE_TRACE_H
#include <stdbool.h>
#include <stdint.h>

#include "simulate/trace_format.h"

enum { TRACE_WHY_BYTES = 512 };

struct trace;

/* "-" is standard input. NULL: `why` (TRACE_WHY_BYTES) holds one sentence. */
struct trace *trace_open(const char *path, char *why);
/* takes the file also when it fails */
struct trace *trace_open_fd(int taken_fd, const char *name, char *why);
void          trace_close(struct trace **);

/* Before anything is read: the form, which is not guessed then. */
void trace_set_format(struct trace *, enum trace_format);

/* These read the beginning of the file, when nothing was read yet. Of a broken file they are the
 * same as of an empty one. */
enum trace_format trace_format(struct trace *);
/* Of which share of all keys the trace has the requests, as the file itself says: above 0, to 1. */
double            trace_sample(struct trace *);

enum trace_step { TRACE_REQUEST, TRACE_END, TRACE_BROKEN };
/* TRACE_BROKEN: the file cannot be read on, and trace_error says why; what came before is good.
 * Both ends are final. */
enum trace_step trace_next(struct trace *, struct trace_request *);

uint64_t    trace_bad_lines(const struct trace *); /* or records */
const char *trace_first_bad(const struct trace *); /* "line 7: …"; empty: none yet */
/* one sentence that names the file; empty: none */
const char *trace_error(const struct trace *);
#endif
