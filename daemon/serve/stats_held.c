/* What the cache holds and how long it held what it evicted: stats sizehist, stats evictions. */
#include <inttypes.h>
#include <stdlib.h>

#include "cache/counters.h"
#include "serve/stats.h"

/* clang-format off */
#define SIZEHIST_STATS(X) \
    X(items, gauge, items, U64, h->items * h->every, "live items, pieces of chained values being items too") \
    X(item_bytes, gauge, bytes, U64, h->item_bytes * h->every, "what they need") \
    X(taken_bytes, gauge, bytes, U64, h->taken_bytes * h->every, "what they take, with the ends of chunks and pages") \
    X(sampled_pages, gauge, pages, U64, h->every, "one page of so many was looked at; BYTES lines give the items of up to so many bytes, and more than the line before")
/* clang-format on */
const struct counter_info stats_sizehist_info[] = {SIZEHIST_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

/* Eight lines an octave. */
static uint32_t line_end(uint32_t bytes) {
    uint32_t octave = 1u << (31u - (unsigned)__builtin_clz(bytes > 8 ? bytes - 1 : 8)), step = octave / 8;
    return (bytes + step - 1) / step * step;
}

void stats_sizehist(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct size_histogram *h = malloc(sizeof *h);
    if (!h) {
        out->failed = true;
        return;
    }
    cache_sizes(ctx->server->cache, h, CACHE_SIZES_PAGES_QUICK); /* others wait for this worker */
    SIZEHIST_STATS(STATS_PUT)
    uint64_t items = 0;
    uint32_t end = 0;
    for (unsigned i = 0; i < FIT_STEPS; i++) {
        if (h->steps[i].items == 0) {
            continue;
        }
        uint32_t bytes = line_end(h->steps[i].bytes_most);
        if (bytes != end && items > 0) {
            text_out_printf(out, "STAT %u %" PRIu64 "\r\n", end, items * h->every);
            items = 0;
        }
        end = bytes;
        items += h->steps[i].items;
    }
    if (items > 0) {
        text_out_printf(out, "STAT %u %" PRIu64 "\r\n", end, items * h->every);
    }
    free(h);
}

/* --- stats evictions: as CLASS:field, of classes that evicted --- */

const struct counter_info stats_evictions_info[] = {CACHE_AGE_COUNTERS(COUNTER_INFO){"last_s", "gauge", "seconds", "since its last use, of the item evicted last"},
                                                    {NULL, NULL, NULL, NULL}};

void stats_evictions(struct command_context *ctx) {
    struct cache *cache = ctx->server->cache;
    for (unsigned id = 1; id <= cache_slab(cache)->class_count; id++) {
        struct cache_age_values ages;
        struct cache_class_facts f;
        uint64_t sum = 0;
        cache_class_ages(cache, id, &ages);
        for (unsigned i = 0; i < CACHE_AGES; i++) {
            sum += ((const uint64_t *)&ages)[i];
        }
        if (sum == 0) {
            continue;
        }
        cache_class_facts(cache, id, &f);
        for (unsigned i = 0; i < CACHE_AGES; i++) {
            text_out_printf(ctx->out, "STAT %u:%s %" PRIu64 "\r\n", id, stats_evictions_info[i].name, ((const uint64_t *)&ages)[i]);
        }
        text_out_printf(ctx->out, "STAT %u:last_s %u\r\n", id, f.evicted_age_s);
    }
}
