/* stats sizehist and stats sizes: histograms of item sizes, computed once for all clients that
 * wait. */
#include <inttypes.h>
#include <stdlib.h>

#include "cache/admin/counters.h"
#include "server/stats/stats.h"

/* clang-format off */
#define SIZEHIST_STATS(X) \
    X(items, gauge, items, U64, h->items * h->every, \
      "live items; each piece of a chained value counts as one") \
    X(item_bytes, gauge, bytes, U64, h->item_bytes * h->every, "memory that the live items need") \
    X(taken_bytes, gauge, bytes, U64, h->taken_bytes * h->every, \
      "memory that the live items take, with the ends of chunks and pages") \
    X(sampled_pages, gauge, pages, U64, h->every, \
      "one page in this many was read; a line BYTES counts the items up to that size, above " \
      "the size of the line before")
/* clang-format on */
const struct counter_info stats_sizehist_info[] = {
    SIZEHIST_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

/* The largest size that is counted in the same line. Each power of two is divided into eight
 * lines. */
static uint32_t sizes_line_end(uint32_t bytes) {
    uint32_t octave = 1u << (31u - (unsigned)__builtin_clz(bytes > 8 ? bytes - 1 : 8)),
             step = octave / 8;
    return (bytes + step - 1) / step * step;
}

static void sizes_put_histogram(struct text_out *out, const struct fit_histogram *h) {
    SIZEHIST_STATS(STATS_PUT)
    uint64_t items = 0;
    uint32_t end = 0;
    for (unsigned i = 0; i < FIT_STEPS; i++) {
        if (h->steps[i].items == 0) {
            continue;
        }
        uint32_t bytes = sizes_line_end(h->steps[i].bytes_most);
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

struct sizes_histogram {
    struct cache_sizing   sizing;
    struct fit_histogram sizes;
};

static bool sizes_histogram_begin(void *state, struct command_context *ctx) {
    struct sizes_histogram *h = state;
    cache_sizing_begin(ctx->server->cache, &h->sizing, &h->sizes, CACHE_SIZES_PAGES_QUICK);
    return true;
}

static bool sizes_histogram_step(void *state, struct command_context *ctx,
                                 struct text_out *answer) {
    struct sizes_histogram *h = state;
    while (cache_sizing_step(ctx->server->cache, &h->sizing)) {
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    sizes_put_histogram(answer, &h->sizes);
    return false;
}

static void sizes_histogram_end(void *state) {
    (void)state;
}

void stats_sizehist(struct command_context *ctx) {
    static const struct coalesced_maker maker = {sizeof(struct sizes_histogram),
                                                 sizes_histogram_begin, sizes_histogram_step,
                                                 sizes_histogram_end};
    command_answer_coalesced(ctx, &ctx->server->coalesced[SERVER_COALESCED_SIZEHIST], &maker);
}

/* --- stats sizes: STAT size count, in steps of 32 bytes --- */

enum { WALK_ROOM = 256, SIZE_STEP_BYTES = 32 };

struct sizes_table {
    struct cache_walk    walk;
    struct cache_walked *items; /* the items of one step of the walk, at most WALK_ROOM */
    uint64_t            *counts;
    size_t               count;
};

static bool sizes_table_begin(void *state, struct command_context *ctx) {
    struct sizes_table *s = state;
    s->count = cache_item_bytes_max(ctx->server->cache) / SIZE_STEP_BYTES + 2;
    s->counts = calloc(s->count, sizeof *s->counts);
    s->items = malloc(WALK_ROOM * sizeof *s->items);
    return s->counts && s->items;
}

static void sizes_put_table(const struct sizes_table *s, struct text_out *answer) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->counts[i] > 0) {
            text_out_printf(answer, "STAT %zu %" PRIu64 "\r\n", i * SIZE_STEP_BYTES, s->counts[i]);
        }
    }
    text_out_str(answer, "END\r\n");
}

static bool sizes_table_step(void *state, struct command_context *ctx, struct text_out *answer) {
    struct sizes_table *s = state;
    int n;
    while ((n = cache_walk_next(ctx->ct, &s->walk, s->items, WALK_ROOM)) >= 0) {
        for (int i = 0; i < n; i++) {
            size_t step = (s->items[i].view.total_bytes + SIZE_STEP_BYTES - 1) / SIZE_STEP_BYTES;
            s->counts[step < s->count ? step : s->count - 1]++;
        }
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    sizes_put_table(s, answer);
    return false;
}

static void sizes_table_end(void *state) {
    struct sizes_table *s = state;
    free(s->counts);
    free(s->items);
}

void stats_sizes_table(struct command_context *ctx) {
    static const struct coalesced_maker maker = {sizeof(struct sizes_table), sizes_table_begin,
                                              sizes_table_step, sizes_table_end};
    command_answer_coalesced(ctx, &ctx->server->coalesced[SERVER_COALESCED_SIZES], &maker);
}
