/* What the cache holds and how long it held what it evicted: stats sizehist, stats evictions. */
#include <inttypes.h>
#include <stdlib.h>

#include "cache/counters.h"
#include "serve/pieces.h"
#include "serve/stats/stats.h"

/* clang-format off */
#define SIZEHIST_STATS(X) \
    X(items, gauge, items, U64, h->items * h->every, "live items, pieces of chained values being items too") \
    X(item_bytes, gauge, bytes, U64, h->item_bytes * h->every, "what they need") \
    X(taken_bytes, gauge, bytes, U64, h->taken_bytes * h->every, "what they take, with the ends of chunks and pages") \
    X(sampled_pages, gauge, pages, U64, h->every, "one page of so many was looked at; BYTES lines give the items of up to so many bytes, and more than the line before")
/* clang-format on */
const struct counter_info stats_sizehist_info[] = {
    SIZEHIST_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

/* Eight lines an octave. */
static uint32_t line_end(uint32_t bytes) {
    uint32_t octave = 1u << (31u - (unsigned)__builtin_clz(bytes > 8 ? bytes - 1 : 8)),
             step = octave / 8;
    return (bytes + step - 1) / step * step;
}

/* Pages are looked at some at a time, for others wait for this worker; the answer comes with the
 * last. */
struct sizehist {
    struct command_more   more; /* first: the session knows only this */
    struct cache_sizing   sizing;
    struct size_histogram sizes;
};

static void put_sizes(struct text_out *out, const struct size_histogram *h) {
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
    text_out_str(out, "END\r\n");
}

static bool sizehist_run(struct command_more *more, struct command_context *ctx) {
    struct sizehist *h = (struct sizehist *)more;
    while (cache_sizing_step(ctx->server->cache, &h->sizing)) {
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    put_sizes(ctx->out, &h->sizes);
    return false;
}

static void sizehist_destroy(struct command_more *more) { free(more); }

void stats_sizehist(struct command_context *ctx) {
    struct sizehist *h = malloc(sizeof *h);
    if (!h) {
        ctx->out->failed = true;
        return;
    }
    h->more = (struct command_more){.run = sizehist_run, .destroy = sizehist_destroy};
    cache_sizing_begin(ctx->server->cache, &h->sizing, &h->sizes, CACHE_SIZES_PAGES_QUICK);
    if (sizehist_run(&h->more, ctx)) {
        ctx->more = &h->more;
    } else {
        sizehist_destroy(&h->more);
    }
}

/* --- stats evictions: as CLASS:field, of classes that evicted --- */

const struct counter_info stats_evictions_info[] = {
    CACHE_AGE_COUNTERS(COUNTER_INFO){"last_s", "gauge", "seconds",
                                     "since its last use, of the item evicted last"},
    {NULL, NULL, NULL, NULL}};

static void put_ages(struct command_context *ctx, unsigned id) {
    struct cache_age_values ages;
    struct cache_class_facts f;
    uint64_t sum = 0;
    cache_class_ages(ctx->server->cache, id, &ages);
    for (unsigned i = 0; i < CACHE_AGES; i++) {
        sum += ((const uint64_t *)&ages)[i];
    }
    if (sum == 0) {
        return;
    }
    cache_class_facts(ctx->server->cache, id, &f);
    for (unsigned i = 0; i < CACHE_AGES; i++) {
        text_out_printf(ctx->out, "STAT %u:%s %" PRIu64 "\r\n", id, stats_evictions_info[i].name,
                        ((const uint64_t *)&ages)[i]);
    }
    text_out_printf(ctx->out, "STAT %u:last_s %u\r\n", id, f.evicted_age_s);
}

static bool write_ages(struct command_context *ctx, uint32_t *next, void *state) {
    (void)state;
    while (*next <= cache_slab(ctx->server->cache)->class_count) {
        put_ages(ctx, (*next)++);
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_evictions(struct command_context *ctx) { pieces_answer(ctx, write_ages, 1, NULL, 0); }
