/* stats slated and stats policies, which memcached does not have. */
#include <inttypes.h>

#include "mem/item.h"
#include "serve/stats/stats.h"

struct own {
    struct cache_facts  cache;
    struct cache_adopted adopted;
    struct serve_values serve;
    uint64_t            log_lost;
    unsigned            values_waiting;
    size_t              drafts_most;
    const char         *policy, *store, *index, *role;
    bool                cas;
};

/* clang-format off */
#define SLATED_STATS(X) \
    X(slated_version, text, version, TEXT, SLATE_VERSION, "this program's own version") \
    X(store, text, name, TEXT, o->store, "where items live: slab, heap, blocks") \
    X(index, text, name, TEXT, o->index, \
      "how keys find their items: bucket, chained, cuckoo, hopscotch") \
    X(policy, text, name, TEXT, o->policy, "who is evicted") \
    X(role, text, name, TEXT, o->role, "what this connection may do: read, write or admin") \
    X(role_refusals, counter, operations, U64, o->serve.role_refusals, \
      "requests and commands that the role of a connection did not allow") \
    X(udp_datagrams, counter, datagrams, U64, o->serve.udp_datagrams, \
      "requests received by UDP, or what came in their place") \
    X(udp_dropped, counter, datagrams, U64, o->serve.udp_dropped, \
      "datagrams without a frame, parts of a request, and errors of other servers") \
    X(udp_refused, counter, operations, U64, o->serve.udp_refused, \
      "replies too long for a client of another machine by UDP (udp_reply_factor)") \
    X(udp_lost, counter, datagrams, U64, o->serve.udp_lost, \
      "datagrams of replies that the system did not take") \
    X(partitions, gauge, partitions, U64, o->cache.partitions, \
      "parts of the cache with a lock each") \
    X(classes, gauge, classes, U64, o->cache.class_count, "slab classes") \
    X(header_bytes, gauge, bytes, U64, sizeof(struct item) + (o->cas ? 8 : 0), \
      "header of an item of a small value without client flags") \
    X(index_bytes, gauge, bytes, U64, o->cache.index_bytes, "memory of the index") \
    X(index_buckets, gauge, buckets, U64, o->cache.index_buckets, "buckets in it") \
    X(index_bytes_per_item, gauge, bytes, RATIO, \
      o->cache.items ? (double)o->cache.index_bytes / (double)o->cache.items : 0, \
      "the same by the items there are") \
    X(pages_limit, gauge, pages, U64, o->cache.pages_limit, "pages of 1 MiB there may be") \
    X(pages_out, gauge, pages, U64, o->cache.pages_out, "of these, pages that classes have") \
    X(adopted_items, gauge, items, U64, o->adopted.items, \
      "items of the memory file with which the server began") \
    X(adopted_expired, gauge, items, U64, o->adopted.expired, \
      "items in it that had expired or been flushed by then") \
    X(adopted_torn, gauge, items, U64, o->adopted.torn, \
      "items in it that were not whole, or being written when its server ended: their chunks " \
      "were freed") \
    X(adopted_torn_pages, gauge, pages, U64, o->adopted.torn_pages, \
      "pages in it of no class: they went to the pool") \
    X(adopted_left_out, gauge, items, U64, o->adopted.left_out, \
      "items in it for which the index had no room") \
    X(adopted_us, gauge, microseconds, U64, o->adopted.us, "how long that took") \
    X(page_steals, counter, pages, U64, o->cache.counters.page_steals, \
      "pages a class with nothing left took at once from another") \
    X(index_evictions, counter, items, U64, o->cache.counters.index_evictions, \
      "items evicted, or dead and freed, because more keys than the index holds there had " \
      "hashes alike") \
    X(draft_bytes, gauge, bytes, U64, o->cache.draft_bytes, \
      "memory that values take or may take which are still coming") \
    X(draft_bytes_most, gauge, bytes, U64, o->drafts_most, \
      "what they may take together: an eighth of the pages; a value counts for no more than " \
      "half of it") \
    X(pinned_bytes, gauge, bytes, U64, o->cache.pinned_bytes, \
      "of values that were replaced, removed or evicted while they were being sent: taken until " \
      "their readers are done") \
    X(values_waited, counter, operations, U64, o->serve.values_waited, \
      "such values that had to wait for memory that others held") \
    X(values_waiting, gauge, connections, U64, o->values_waiting, \
      "connections whose values wait for it now") \
    X(values_late, counter, operations, U64, o->serve.values_late, \
      "values refused because their bytes did not come") \
    X(log_lines_lost, counter, lines, U64, o->log_lost, \
      "lines of the log that stderr did not take, or not in time") \
    X(read_retries, counter, operations, U64, o->cache.counters.read_retries, \
      "lock-free reads that had to start again") \
    X(batches, counter, turns, U64, o->serve.batches, "turns of the workers that ran requests") \
    X(requests, counter, operations, U64, o->serve.requests, "requests run") \
    X(requests_per_batch, gauge, operations, RATIO, \
      o->serve.batches ? (double)o->serve.requests / (double)o->serve.batches : 0, \
      "how many of them a turn")
/* clang-format on */

const struct counter_info stats_slated_info[] = {SLATED_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

void stats_slated(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct own here, *const o = &here;
    cache_facts(ctx->server->cache, &o->cache);
    o->adopted = *cache_adopted(ctx->server->cache);
    server_values(ctx->server, &o->serve);
    o->drafts_most = cache_drafts_most(ctx->server->cache);
    o->values_waiting = cache_drafts_waiting(ctx->server->cache);
    o->log_lost = server_log_lost(ctx->server);
    o->role = role_name(ctx->role);
    o->policy = cache_policy(ctx->server->cache)->name;
    o->store = cache_store_name(cache_store_kind(ctx->server->cache));
    o->index = cache_index_name(ctx->server->cache);
    o->cas = cache_has_cas(ctx->server->cache);
    SLATED_STATS(STATS_PUT)
}

void stats_policies(struct command_context *ctx) {
    const struct evict_policy *active = cache_policy(ctx->server->cache);
    for (const struct evict_policy *const *p = evict_policies; *p; p++) {
        text_out_printf(ctx->out, "STAT %s:active %s\r\n", (*p)->name, *p == active ? "yes" : "no");
        text_out_printf(ctx->out, "STAT %s:bytes_per_item %zu\r\n", (*p)->name,
                        sizeof(struct node) + (*p)->bytes_per_item);
        text_out_printf(ctx->out, "STAT %s:cost %s\r\n", (*p)->name, (*p)->cost);
        text_out_printf(ctx->out, "STAT %s:source %s\r\n", (*p)->name, (*p)->source);
    }
    for (unsigned id = 1; id <= cache_slab(ctx->server->cache)->class_count; id++) {
        const struct evict_policy *own = cache_class_policy(ctx->server->cache, id);
        if (own != active) {
            text_out_printf(ctx->out, "STAT class:%u:policy %s\r\n", id, own->name);
        }
    }
}
