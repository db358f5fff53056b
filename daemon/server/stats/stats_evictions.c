/* stats evictions: how long evicted items had not been used; rows of each class that evicted, as
 * CLASS:field. */
#include <inttypes.h>

#include "cache/admin/counters.h"
#include "server/stats/stats.h"

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

static void evictions_put_class(struct command_context *ctx, unsigned id) {
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

static bool evictions_write_classes(struct command_context *ctx, uint32_t *next, void *state) {
    (void)state;
    while (*next <= cache_slab(ctx->server->cache)->class_count) {
        evictions_put_class(ctx, (*next)++);
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_evictions(struct command_context *ctx) {
    command_answer_pieces(ctx, evictions_write_classes, 1, NULL, 0);
}
