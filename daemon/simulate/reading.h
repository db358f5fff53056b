/* Reads a trace by the block for cells: adds times, and the sizes that the trace's lines do not
 * have. Threading: one thread at a time. */
#ifndef SLATE_SIMULATE_READING_H
#define SLATE_SIMULATE_READING_H
#include "simulate/cell.h"
#include "simulate/simulate_options.h"
#include "simulate/trace.h"
#include "simulate/trace_recall.h"

/* Requests are read ahead by the block, so that each cell plays many of them with its own memory in
 * the processor's cache. */
enum { SIMULATE_BLOCK_REQUESTS = 1024 };
struct simulate_block {
    struct simulate_request requests[SIMULATE_BLOCK_REQUESTS];
    char   keys[SIMULATE_BLOCK_REQUESTS][KEY_BYTES_MAX];
    size_t count;
};

struct simulate_reading {
    const struct simulate_options *options;
    struct trace *trace;
    enum trace_format format;
    /* the requests are of several kinds; the trace's times are used */
    bool     has_verbs, has_times;
    double   sample;               /* share of all keys in the trace */
    struct trace_request request;  /* the last request read */
    uint32_t times_left;           /* how often `request` is still to be played */
    uint64_t number, first_ms, at_us;
    struct simulate_recall *recall; /* last stored values; NULL: the format has no stores */
};

/* Returns an exit status. On failure `why` holds one sentence and nothing is open. The options
 * outlive the reading. */
int  simulate_reading_open(struct simulate_reading *, const struct simulate_options *,
                           char why[TRACE_WHY_BYTES]);
void simulate_reading_close(struct simulate_reading *);

/* Fills the block with the next requests; of TRACE_END and TRACE_BROKEN there may be some, too.
 * TRACE_BROKEN without an error of the trace: out of memory. */
enum trace_step simulate_reading_next(struct simulate_reading *, struct simulate_block *);
#endif
