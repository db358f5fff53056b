/* stats sizehist, stats sizes, stats evictions: what the cache holds, and how long it held what it
 * evicted. */
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
      "one page in this many was looked at; a line BYTES counts the items up to that size, above " \
      "the size of the line before")
/* clang-format on */
const struct counter_info stats_sizehist_info[] = {
    SIZEHIST_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

/* The upper end of the line that counts this size. There are eight lines from a power of two to the
 * next. */
static uint32_t line_end(uint32_t bytes) {
    uint32_t octave = 1u << (31u - (unsigned)__builtin_clz(bytes > 8 ? bytes - 1 : 8)),
             step = octave / 8;
    return (bytes + step - 1) / step * step;
}

static void put_sizes(struct text_out *out, const struct fit_histogram *h) {
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

struct sizehist {
    struct cache_sizing   sizing;
    struct fit_histogram sizes;
};

static bool sizehist_begin(void *state, struct command_context *ctx) {
    struct sizehist *h = state;
    cache_sizing_begin(ctx->server->cache, &h->sizing, &h->sizes, CACHE_SIZES_PAGES_QUICK);
    return true;
}

static bool sizehist_go_on(void *state, struct command_context *ctx, struct text_out *answer) {
    struct sizehist *h = state;
    while (cache_sizing_step(ctx->server->cache, &h->sizing)) {
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    put_sizes(answer, &h->sizes);
    return false;
}

static void sizehist_end(void *state) { (void)state; }

void stats_sizehist(struct command_context *ctx) {
    static const struct coalesced_maker maker = {sizeof(struct sizehist), sizehist_begin,
                                                 sizehist_go_on, sizehist_end};
    command_answer_coalesced(ctx, &ctx->server->shared[SERVER_SHARED_SIZEHIST], &maker);
}

/* --- stats sizes: STAT size count, in steps of 32 bytes --- */

enum { WALK_ROOM = 256, SIZE_STEP_BYTES = 32 };

struct size_steps {
    struct cache_walk    walk;
    struct cache_walked *items; /* items of one bucket, at most WALK_ROOM */
    uint64_t            *counts;
    size_t               count;
};

static bool steps_begin(void *state, struct command_context *ctx) {
    struct size_steps *s = state;
    s->count = cache_item_bytes_max(ctx->server->cache) / SIZE_STEP_BYTES + 2;
    s->counts = calloc(s->count, sizeof *s->counts);
    s->items = malloc(WALK_ROOM * sizeof *s->items);
    return s->counts && s->items;
}

static void put_steps(const struct size_steps *s, struct text_out *answer) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->counts[i] > 0) {
            text_out_printf(answer, "STAT %zu %" PRIu64 "\r\n", i * SIZE_STEP_BYTES, s->counts[i]);
        }
    }
    text_out_str(answer, "END\r\n");
}

static bool steps_go_on(void *state, struct command_context *ctx, struct text_out *answer) {
    struct size_steps *s = state;
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
    put_steps(s, answer);
    return false;
}

static void steps_end(void *state) {
    struct size_steps *s = state;
    free(s->counts);
    free(s->items);
}

void stats_size_steps(struct command_context *ctx) {
    static const struct coalesced_maker maker = {sizeof(struct size_steps), steps_begin,
                                                 steps_go_on, steps_end};
    command_answer_coalesced(ctx, &ctx->server->shared[SERVER_SHARED_SIZES], &maker);
}

/* --- stats evictions: rows of classes that evicted, as CLASS:field --- */

/* clang-format off */
#define EVICTIONS_STATS(X) \
    X(under_1s, counter, items, U64, ages->under_1s, \
      "evicted items last used less than 1 s before") \
    X(under_4s, counter, items, U64, ages->under_4s, \
      "evicted items last used less than 4 s before, but not less than 1 s") \
    X(under_16s, counter, items, U64, ages->under_16s, \
      "evicted items last used less than 16 s before, but not less than 4 s") \
    X(under_64s, counter, items, U64, ages->under_64s, \
      "evicted items last used less than 64 s before, but not less than 16 s") \
    X(under_256s, counter, items, U64, ages->under_256s, \
      "evicted items last used less than 256 s before, but not less than 64 s") \
    X(under_1024s, counter, items, U64, ages->under_1024s, \
      "evicted items last used less than 1024 s before, but not less than 256 s") \
    X(under_4096s, counter, items, U64, ages->under_4096s, \
      "evicted items last used less than 4096 s before, but not less than 1024 s") \
    X(under_16384s, counter, items, U64, ages->under_16384s, \
      "evicted items last used less than 16384 s before, but not less than 4096 s") \
    X(under_65536s, counter, items, U64, ages->under_65536s, \
      "evicted items last used less than 65536 s before, but not less than 16384 s") \
    X(under_262144s, counter, items, U64, ages->under_262144s, \
      "evicted items last used less than 262144 s before, but not less than 65536 s") \
    X(under_1048576s, counter, items, U64, ages->under_1048576s, \
      "evicted items last used less than 1048576 s before, but not less than 262144 s") \
    X(older, counter, items, U64, ages->older, \
      "evicted items last used 1048576 s (12 days) before, or longer ago") \
    X(last_s, gauge, seconds, U64, last_s, \
      "how long the item that was evicted last had not been used")
/* clang-format on */

const struct counter_info stats_evictions_info[] = {
    EVICTIONS_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

#define PUT_AGE(name, kind, unit, type, value, help) \
    text_out_printf(out, "STAT %u:" #name " %" PRIu64 "\r\n", id, (uint64_t)(value));

static void put_ages(struct command_context *ctx, unsigned id) {
    struct text_out *out = ctx->out;
    struct cache_age_values here, *const ages = &here;
    struct cache_class_facts f;
    uint64_t sum = 0;
    cache_class_ages(ctx->server->cache, id, ages);
    for (unsigned i = 0; i < CACHE_AGES; i++) {
        sum += ages->each[i];
    }
    if (sum == 0) {
        return;
    }
    cache_class_facts(ctx->server->cache, id, &f);
    uint32_t last_s = f.evicted_age_s;
    EVICTIONS_STATS(PUT_AGE)
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

void stats_evictions(struct command_context *ctx) {
    command_answer_pieces(ctx, write_ages, 1, NULL, 0);
}
