/* `stats items` and `stats slabs`: one group of lines a slab class. */
#include <inttypes.h>

#include "mem/arena.h"
#include "server/stats/stats.h"

struct class_stats {
    unsigned                 id;
    const struct cache_class_facts *facts;
    const struct evict_policy *policy;
};

/* memcached's names of its four lists, and the lists of the policy that stand for them. */
enum { HOT = EVICT_NEW, WARM = EVICT_MAIN, COLD = EVICT_OLD, TEMP = EVICT_TEMP };
static uint64_t class_list_items(const struct class_stats *c, unsigned list) {
    return c->facts->list_items[list];
}
static uint64_t class_list_age_s(const struct class_stats *c, unsigned list) {
    return c->facts->list_age_s[list];
}

/* Age of the oldest item in the list of the next victims; if that list is empty, in all lists. */
static uint64_t class_tail_age_s(const struct class_stats *c) {
    uint64_t age_s = class_list_age_s(c, c->policy->tail_list);
    for (unsigned i = 0; class_list_items(c, c->policy->tail_list) == 0 && i < EVICT_LISTS; i++) {
        age_s = class_list_age_s(c, i) > age_s ? class_list_age_s(c, i) : age_s;
    }
    return age_s;
}

/* As in memcached, a policy with a single list shows no SEGMENTED rows. */
/* clang-format off */
#define ITEMS_STATS(ALWAYS, SEGMENTED, IF_TEMP) \
    ALWAYS(number, gauge, items, U64, c->facts->items, "items of the class") \
    SEGMENTED(number_hot, gauge, items, U64, class_list_items(c, HOT), \
              "items in the hot queue of the class") \
    SEGMENTED(number_warm, gauge, items, U64, class_list_items(c, WARM), \
              "items in the warm queue of the class") \
    SEGMENTED(number_cold, gauge, items, U64, class_list_items(c, COLD), \
              "items in the cold queue of the class") \
    IF_TEMP(number_temp, gauge, items, U64, class_list_items(c, TEMP), \
            "items in the temporary queue of the class; shown when that is on") \
    SEGMENTED(age_hot, gauge, seconds, U64, class_list_age_s(c, HOT), \
              "time since the oldest item of the hot queue was stored or moved") \
    SEGMENTED(age_warm, gauge, seconds, U64, class_list_age_s(c, WARM), \
              "time since the oldest item of the warm queue was stored or moved") \
    ALWAYS(age, gauge, seconds, U64, class_tail_age_s(c), \
           "time since the oldest item of the queue that evicts was stored or moved") \
    ALWAYS(mem_requested, gauge, bytes, U64, c->facts->requested_bytes, \
           "header, key and value bytes of the items of the class") \
    ALWAYS(evicted, counter, items, U64, c->facts->counters.evicted, \
           "live items dropped to make room") \
    ALWAYS(evicted_nonzero, counter, items, U64, c->facts->counters.evicted_nonzero, \
           "evicted items that had an expiry time") \
    ALWAYS(evicted_time, gauge, seconds, U64, c->facts->evicted_age_s, \
           "how long the item that was evicted last had not been used") \
    ALWAYS(outofmemory, counter, operations, U64, c->facts->counters.outofmemory, \
           "stores refused for lack of memory") \
    ALWAYS(tailrepairs, counter, items, U64, 0, "always 0: items cannot leak references") \
    ALWAYS(reclaimed, counter, items, U64, c->facts->counters.reclaimed, \
           "expired and flushed items found by the sweep or at a queue's end") \
    ALWAYS(expired_unfetched, counter, items, U64, c->facts->counters.expired_unfetched, \
           "expired items never read, found by the sweep, at a queue's end or by the crawler") \
    ALWAYS(evicted_unfetched, counter, items, U64, c->facts->counters.evicted_unfetched, \
           "evicted items never read") \
    SEGMENTED(evicted_active, counter, items, U64, c->facts->counters.evicted_active, \
              "evicted items read lately") \
    ALWAYS(crawler_reclaimed, counter, items, U64, c->facts->counters.crawler_reclaimed, \
           "expired and flushed items freed by the crawler") \
    ALWAYS(crawler_items_checked, counter, items, U64, c->facts->counters.crawler_items_checked, \
           "items the crawler read") \
    ALWAYS(lrutail_reflocked, counter, items, U64, 0, \
           "always 0: the search for a victim passes over an item that is being sent") \
    SEGMENTED(moves_to_cold, counter, items, U64, c->facts->counters.moves_to_cold, \
              "items moved to the cold queue") \
    SEGMENTED(moves_to_warm, counter, items, U64, c->facts->counters.moves_to_warm, \
              "items moved to the warm queue") \
    SEGMENTED(moves_within_lru, counter, items, U64, c->facts->counters.moves_within_lru, \
              "items given another round in their queue") \
    SEGMENTED(direct_reclaims, counter, items, U64, c->facts->counters.direct_reclaims, \
              "evictions made by the store that needed the memory") \
    SEGMENTED(hits_to_hot, counter, operations, U64, c->facts->counters.hits_to_hot, \
              "hits on items in the hot queue") \
    SEGMENTED(hits_to_warm, counter, operations, U64, c->facts->counters.hits_to_warm, \
              "hits on items in the warm queue") \
    SEGMENTED(hits_to_cold, counter, operations, U64, c->facts->counters.hits_to_cold, \
              "hits on items in the cold queue") \
    SEGMENTED(hits_to_temp, counter, operations, U64, c->facts->counters.hits_to_temp, \
              "hits on items in the temporary queue")

#define SLABS_STATS(X) \
    X(chunk_size, gauge, bytes, U64, c->facts->slab.chunk_bytes, "bytes of a chunk") \
    X(chunks_per_page, gauge, chunks, U64, c->facts->slab.chunks_per_page, \
      "chunks in a page of 1 MiB") \
    X(total_pages, gauge, pages, U64, c->facts->slab.pages, "pages of the class") \
    X(total_chunks, gauge, chunks, U64, class_total_chunks(c), "chunks in the pages of the class") \
    X(used_chunks, gauge, chunks, U64, class_total_chunks(c) - class_free_chunks(c), \
      "chunks of the class that hold items or parts of them") \
    X(free_chunks, gauge, chunks, U64, class_free_chunks(c), "chunks of the class that are free") \
    X(free_chunks_end, gauge, chunks, U64, 0, "always 0, as in memcached") \
    X(get_hits, counter, operations, U64, c->facts->counters.get_hits, "keys found in the class") \
    X(cmd_set, counter, operations, U64, \
      c->facts->counters.cmd_set + c->facts->counters.cmd_set_refused, \
      "values stored in the class, or refused after their data came") \
    X(delete_hits, counter, operations, U64, c->facts->counters.delete_hits, \
      "deletes in the class") \
    X(incr_hits, counter, operations, U64, c->facts->counters.incr_hits, \
      "increments in the class") \
    X(decr_hits, counter, operations, U64, c->facts->counters.decr_hits, \
      "decrements in the class") \
    X(cas_hits, counter, operations, U64, c->facts->counters.cas_hits, \
      "matching compare-and-swap stores in the class") \
    X(cas_badval, counter, operations, U64, c->facts->counters.cas_badval, \
      "mismatching compare-and-swap stores in the class") \
    X(touch_hits, counter, operations, U64, c->facts->counters.touch_hits, "touches in the class")

#define SLABS_TOTALS(X) \
    X(active_slabs, gauge, classes, U64, totals->active, "classes with pages") \
    X(total_malloced, gauge, bytes, U64, totals->bytes, \
      "memory of all pages of all classes; with like_memcached, also of those that a class gave " \
      "back")
/* clang-format on */

const struct counter_info stats_items_info[] = {
    ITEMS_STATS(STATS_INFO, STATS_INFO, STATS_INFO){NULL, NULL, NULL, NULL}};
const struct counter_info stats_slabs_info[] = {
    SLABS_STATS(STATS_INFO) SLABS_TOTALS(STATS_INFO){NULL, NULL, NULL, NULL}};

static uint64_t class_total_chunks(const struct class_stats *c) {
    return (uint64_t)c->facts->slab.pages * c->facts->slab.chunks_per_page;
}

/* Free chunks of the class and of the partitions' magazines. The counts are read at different
 * moments, so the sum is bounded. */
static uint64_t class_free_chunks(const struct class_stats *c) {
    uint64_t all = class_total_chunks(c),
             n = (uint64_t)c->facts->slab.free_chunks + c->facts->magazine_chunks;
    return n < all ? n : all;
}

/* Fills an array, by id, with the facts of the classes from `first` on. Returns the highest id. */
static unsigned classes_read_facts(struct cache *cache, uint32_t first,
                                   struct cache_class_facts *by_id) {
    unsigned count = cache_slab(cache)->class_count;
    struct class_set ids = {{0}};
    for (unsigned id = first; id <= count; id++) {
        class_set_add(&ids, id);
    }
    cache_classes_facts(cache, &ids, by_id);
    return count;
}

#define PUT_CLASS(prefix, name, kind, unit, type, value, help) \
    text_out_printf(out, "STAT " prefix "%u:" #name " %" PRIu64 "\r\n", c->id, (uint64_t)(value));
#define PUT_ITEMS(name, kind, unit, type, value, help) \
    PUT_CLASS("items:", name, kind, unit, type, value, help)
#define PUT_ITEMS_SEGMENTED(name, kind, unit, type, value, help)            \
    if (segmented) {                                                        \
        PUT_CLASS("items:", name, kind, unit, type, value, help)            \
    }
#define PUT_ITEMS_TEMP(name, kind, unit, type, value, help)                 \
    if (segmented && temp_lru) {                                            \
        PUT_CLASS("items:", name, kind, unit, type, value, help)            \
    }
#define PUT_SLABS(name, kind, unit, type, value, help) \
    PUT_CLASS("", name, kind, unit, type, value, help)

static void class_put_items(struct text_out *out, const struct class_stats *c, bool segmented,
                            bool temp_lru) {
    ITEMS_STATS(PUT_ITEMS, PUT_ITEMS_SEGMENTED, PUT_ITEMS_TEMP)
}

static bool classes_write_items(struct command_context *ctx, uint32_t *next, void *state) {
    struct cache *cache = ctx->server->cache;
    struct settings now;
    struct class_stats c;
    struct cache_class_facts by_id[SLAB_CLASSES_MAX];
    (void)state;
    server_settings(ctx->server, &now);
    unsigned count = classes_read_facts(cache, *next, by_id);
    while (*next <= count) {
        c.id = (*next)++;
        c.facts = &by_id[c.id];
        if (c.facts->items == 0) {
            continue;
        }
        c.policy = cache_class_policy(cache, c.id);
        class_put_items(ctx->out, &c, now.lru_segmented, now.temp_lru);
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_items(struct command_context *ctx) {
    command_answer_pieces(ctx, classes_write_items, 1, NULL, 0);
}

static void class_put_slabs(struct text_out *out, const struct class_stats *c) {
    SLABS_STATS(PUT_SLABS)
}

/* Sums over the classes shown so far. */
struct slabs_totals {
    uint64_t active, bytes;
};

static bool classes_write_slabs(struct command_context *ctx, uint32_t *next, void *state) {
    struct text_out *out = ctx->out;
    struct slabs_totals *totals = state;
    struct class_stats c;
    struct cache_class_facts by_id[SLAB_CLASSES_MAX];
    unsigned count = classes_read_facts(ctx->server->cache, *next, by_id);
    while (*next <= count) {
        c.id = (*next)++;
        c.facts = &by_id[c.id];
        if (c.facts->slab.pages == 0) {
            continue;
        }
        class_put_slabs(out, &c);
        totals->active++;
        totals->bytes += (uint64_t)c.facts->slab.pages * PAGE_BYTES;
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    SLABS_TOTALS(STATS_PUT)
    return false;
}

void stats_slabs(struct command_context *ctx) {
    struct slabs_totals totals = {0};
    if (ctx->server->at_start.like_memcached) {
        struct cache_facts facts;
        cache_facts(ctx->server->cache, &facts);
        totals.bytes = (uint64_t)facts.pages_returned * PAGE_BYTES;
    }
    command_answer_pieces(ctx, classes_write_slabs, 1, &totals, sizeof totals);
}
