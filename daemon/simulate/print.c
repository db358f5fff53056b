#include "simulate/print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const char *const verbs[] = {
    [TRACE_GET] = "get", [TRACE_SET] = "set", [TRACE_DELETE] = "delete"};

/* In a form without stores every key has a size, drawn where the line tells none; in the others
 * what a read does not tell stays open. */
static void print_request(const struct simulate_options *o, FILE *to,
                          const struct trace_request *q, bool draws, uint64_t time_ms) {
    uint32_t bytes = q->has_size || draws
                         ? simulate_sizes_of(&o->values, key_hash(q->key, q->key_bytes),
                                             q->has_size ? (int64_t)q->value_bytes : -1)
                         : 0;
    for (uint32_t i = 0; i < q->times; i++) {
        fprintf(to, "%" PRIu64 " %s %.*s ", time_ms, verbs[q->verb], (int)q->key_bytes, q->key);
        if (q->has_size || draws) {
            fprintf(to, "%" PRIu32, bytes);
        } else {
            putc('-', to);
        }
        fprintf(to, q->verb == TRACE_SET ? " %" PRIu32 " -\n" : " - -\n", q->ttl_s);
    }
}

int simulate_print(const struct simulate_options *o, FILE *to, char why[TRACE_WHY_BYTES]) {
    struct trace *t = trace_open(o->trace, why);
    if (t == NULL) {
        return EX_NOINPUT;
    }
    trace_set_format(t, o->format);
    double sample = o->sample > 0 ? o->sample : trace_sample(t);
    bool   has_times = trace_format_has_times(trace_format(t)) && !o->rate_given;
    fprintf(to, "# slate trace 1 sample=1/%.0f from=%s\n", round(1 / sample),
            trace_format_name(trace_format(t)));
    bool draws = !trace_format_has_verbs(trace_format(t));
    struct trace_request q;
    enum trace_step step;
    uint64_t number = 0;
    while ((step = trace_next(t, &q)) == TRACE_REQUEST && !ferror(to)) {
        print_request(o, to, &q, draws, has_times ? q.time_ms : number * 1000 / o->requests_per_s);
        number += q.times;
    }
    int status = step == TRACE_BROKEN ? EX_DATAERR : EXIT_SUCCESS;
    if (fflush(to) != 0 || ferror(to)) {
        status = EX_IOERR;
        snprintf(why, TRACE_WHY_BYTES, "cannot write the trace: %s", strerror(errno));
    } else if (step == TRACE_BROKEN) {
        snprintf(why, TRACE_WHY_BYTES, "%s", trace_error(t));
    } else if (trace_bad_lines(t) > 0) {
        snprintf(why, TRACE_WHY_BYTES, "lines of the trace that were skipped: %" PRIu64
                 "; the first is %.400s", trace_bad_lines(t), trace_first_bad(t));
    } else {
        why[0] = '\0';
    }
    trace_close(&t);
    return status;
}
