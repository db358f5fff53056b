/* A trace read by the block, as cells play it: with times, and with the sizes that its lines do not
 * tell. Threading: one thread at a time. */
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
    /* requests are of several kinds; they have times, and these count */
    bool     has_verbs, has_times;
    double   sample;               /* of which share of all keys they are */
    struct trace_request request;  /* the last one, */
    uint32_t times_left;           /* which is to come so often still */
    uint64_t number, first_ms, at_us;
    struct simulate_recall *recall; /* what was stored; NULL: the form tells no stores */
};

/* Returns an exit status; unless that is 0, `why` holds one sentence and nothing is open. The
 * options outlive the reading. */
int  simulate_reading_open(struct simulate_reading *, const struct simulate_options *,
                           char why[TRACE_WHY_BYTES]);
void simulate_reading_close(struct simulate_reading *);

/* Fills the block with the next requests; of TRACE_END and TRACE_BROKEN there may be some, too.
 * TRACE_BROKEN without an error of the trace: out of memory. */
enum trace_step simulate_reading_next(struct simulate_reading *, struct simulate_block *);
#endif
