#include "simulate/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"

#define SPAN_MS_MAX (UINT64_C(1000) * (INT32_MAX / 2)) /* 34 years: the caches' clock has 136 */

int simulate_reading_open(struct simulate_reading *r, const struct simulate_options *o,
                          char why[TRACE_WHY_BYTES]) {
    *r = (struct simulate_reading){.options = o, .trace = trace_open(o->trace, why)};
    if (r->trace == NULL) {
        return EX_NOINPUT;
    }
    trace_set_format(r->trace, o->format);
    r->format = trace_format(r->trace);
    r->has_verbs = trace_format_has_verbs(r->format);
    r->has_times = trace_format_has_times(r->format) && !o->rate_given;
    r->sample = o->sample > 0 ? o->sample : trace_sample(r->trace);
    if (r->has_verbs && (r->recall = simulate_recall_create()) == NULL) {
        simulate_reading_close(r);
        snprintf(why, TRACE_WHY_BYTES, "out of memory");
        return EX_OSERR;
    }
    return EXIT_SUCCESS;
}

void simulate_reading_close(struct simulate_reading *r) {
    trace_close(&r->trace);
    simulate_recall_destroy(&r->recall);
}

/* Time of the next request. A time that goes back counts as the previous time. */
static uint64_t reading_time_us(struct simulate_reading *r) {
    if (!r->has_times) {
        return r->number * CLOCK_SECOND_US / r->options->requests_per_s;
    }
    if (r->number == 0) {
        r->first_ms = r->request.time_ms;
    }
    uint64_t since_ms =
        r->request.time_ms > r->first_ms ? r->request.time_ms - r->first_ms : 0;
    since_ms = since_ms < SPAN_MS_MAX ? since_ms : SPAN_MS_MAX;
    r->at_us = since_ms * 1000 > r->at_us ? since_ms * 1000 : r->at_us;
    return r->at_us;
}

/* Sets the value that a set, or a get that misses, stores. False: out of memory. */
static bool reading_value(struct simulate_reading *r, struct simulate_request *to) {
    const struct trace_request *q = &r->request;
    struct simulate_value value = {0};
    if (r->options->by_objects || q->verb == TRACE_DELETE) {
        to->fills = true;
        return true;
    }
    if (!r->has_verbs || q->verb == TRACE_SET || q->has_size) {
        value = (struct simulate_value){
            simulate_sizes_of(&r->options->values, to->key.hash,
                              q->has_size ? (int64_t)q->value_bytes : -1),
            q->ttl_s};
        to->fills = true;
    }
    if (q->verb == TRACE_GET && r->recall != NULL) {
        struct simulate_value stored;
        if (simulate_recall_get(r->recall, to->key.hash, &stored)) {
            value.ttl_s = stored.ttl_s; /* a read of the trace has no ttl */
            value.value_bytes = to->fills ? value.value_bytes : stored.value_bytes;
            to->fills = true;
        }
    }
    to->value_bytes = value.value_bytes;
    to->ttl_s = value.ttl_s;
    return q->verb != TRACE_SET || r->recall == NULL ||
           simulate_recall_put(r->recall, to->key.hash, value);
}

enum trace_step simulate_reading_next(struct simulate_reading *r, struct simulate_block *b) {
    for (b->count = 0; b->count < SIMULATE_BLOCK_REQUESTS;
         b->count++, r->times_left--, r->number++) {
        if (r->times_left == 0) {
            enum trace_step step = trace_next(r->trace, &r->request);
            if (step != TRACE_REQUEST) {
                return step;
            }
            r->times_left = r->request.times;
        }
        struct simulate_request *to = &b->requests[b->count];
        memcpy(b->keys[b->count], r->request.key, r->request.key_bytes);
        *to = (struct simulate_request){
            .key = key_make(b->keys[b->count], r->request.key_bytes),
            .verb = r->request.verb,
            .at_us = reading_time_us(r),
        };
        if (!reading_value(r, to)) {
            return TRACE_BROKEN;
        }
    }
    return TRACE_REQUEST;
}
