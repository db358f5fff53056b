/* stats slated and stats policies: statistics that memcached does not have. */
#include <inttypes.h>

#include "mem/item.h"
#include "server/stats/stats.h"

struct slated_stats {
    struct cache_facts  cache;
    struct cache_recovered adopted;
    struct serve_values serve;
    uint64_t            log_lost;
    unsigned            uploads_waiting;
    size_t              upload_bytes_max;
    const char         *policy, *store, *index, *role;
    struct evict_s3fifo_knobs s3fifo;
    bool                cas;
};

/* clang-format off */
#define SLATED_STATS(X) \
    X(slated_version, text, version, TEXT, SLATE_VERSION, "version of slated") \
    X(store, text, name, TEXT, o->store, "how items are stored: slab, heap or blocks") \
    X(index, text, name, TEXT, o->index, \
      "how keys find their items: bucket, chained, cuckoo or hopscotch") \
    X(policy, text, name, TEXT, o->policy, "eviction policy of the whole cache") \
    X(s3fifo_small_percent, gauge, percent, U64, o->s3fifo.small_pct, \
      "share of a class's items that the small queue of s3fifo has") \
    X(s3fifo_ghost_percent, gauge, percent, U64, o->s3fifo.ghost_pct, \
      "keys evicted from the small queue that s3fifo remembers, as a share of the items") \
    X(s3fifo_promote_hits, gauge, hits, U64, o->s3fifo.promote_hits, \
      "hits with which s3fifo takes an item from its small queue to its main one") \
    X(s3fifo_skip_percent, gauge, percent, U64, o->s3fifo.skip_pct, \
      "first part of an item's time in the small queue after which s3fifo wants a hit of it") \
    X(role, text, name, TEXT, o->role, "what this connection may do: read, write or admin") \
    X(role_refusals, counter, operations, U64, o->serve.role_refusals, \
      "requests and commands that the role of a connection did not allow") \
    X(udp_datagrams, counter, datagrams, U64, o->serve.udp_datagrams, \
      "datagrams received by UDP, with or without a request") \
    X(udp_dropped, counter, datagrams, U64, o->serve.udp_dropped, \
      "datagrams dropped: without a frame, part of a longer request, or another server's error") \
    X(udp_refused, counter, operations, U64, o->serve.udp_refused, \
      "replies by UDP refused because they were too long for a client of another machine " \
      "(udp_reply_factor)") \
    X(udp_lost, counter, datagrams, U64, o->serve.udp_lost, \
      "datagrams of replies that the system did not send") \
    X(partitions, gauge, partitions, U64, o->cache.partitions, \
      "parts of the cache with a lock each") \
    X(classes, gauge, classes, U64, o->cache.class_count, "slab classes that there are") \
    X(header_bytes, gauge, bytes, U64, sizeof(struct item) + (o->cas ? 8 : 0), \
      "header of an item that has a small value and no client flags") \
    X(index_bytes, gauge, bytes, U64, o->cache.index_bytes, "memory of the index") \
    X(index_buckets, gauge, buckets, U64, o->cache.index_buckets, "buckets of the index") \
    X(index_bytes_per_item, gauge, bytes, RATIO, \
      o->cache.items ? (double)o->cache.index_bytes / (double)o->cache.items : 0, \
      "memory of the index for each item") \
    X(pages_limit, gauge, pages, U64, o->cache.pages_limit, \
      "pages of 1 MiB that the memory limit allows") \
    X(pages_out, gauge, pages, U64, o->cache.pages_out, "pages that classes have") \
    X(adopted_items, gauge, items, U64, o->adopted.items, \
      "items of the memory file with which the server began") \
    X(adopted_expired, gauge, items, U64, o->adopted.expired, \
      "items of the memory file that had expired or been flushed before the server began") \
    X(adopted_torn, gauge, items, U64, o->adopted.torn, \
      "items of the memory file that were damaged, or being written when its server ended: their " \
      "chunks were freed") \
    X(adopted_torn_pages, gauge, pages, U64, o->adopted.torn_pages, \
      "pages of the memory file that belonged to no class: they went to the pool") \
    X(adopted_left_out, gauge, items, U64, o->adopted.left_out, \
      "items of the memory file for which the index had no room") \
    X(adopted_us, gauge, microseconds, U64, o->adopted.us, \
      "time that the server took to take up the memory file") \
    X(page_steals, counter, pages, U64, o->cache.counters.page_steals, \
      "pages that a class with nothing left took at once from another") \
    X(index_evictions, counter, items, U64, o->cache.counters.index_evictions, \
      "items evicted, or dead and freed, because the index had no more room for keys with hashes " \
      "so much alike") \
    X(draft_bytes, gauge, bytes, U64, o->cache.upload_bytes, \
      "memory that values take, or may take, while their bytes are still coming") \
    X(draft_bytes_most, gauge, bytes, U64, o->upload_bytes_max, \
      "most memory that values may take together while their bytes are still coming: an eighth " \
      "of the pages; one value counts for no more than half of it") \
    X(pinned_bytes, gauge, bytes, U64, o->cache.pinned_bytes, \
      "memory of values that were replaced, removed or evicted while they were being sent; free " \
      "once they are sent") \
    X(uploads_waited, counter, operations, U64, o->serve.uploads_waited, \
      "values that had to wait for memory that other values held while their bytes were coming") \
    X(uploads_waiting, gauge, connections, U64, o->uploads_waiting, \
      "connections whose value waits for memory that other values hold") \
    X(uploads_timed_out, counter, operations, U64, o->serve.uploads_timed_out, \
      "values refused because their bytes did not come in time (value-timeout)") \
    X(log_lines_lost, counter, lines, U64, o->log_lost, \
      "lines of the log that were lost because stderr did not take them in time") \
    X(read_retries, counter, operations, U64, o->cache.counters.read_retries, \
      "lock-free reads that had to start again") \
    X(batches, counter, turns, U64, o->serve.batches, "turns of the workers that ran requests") \
    X(requests, counter, operations, U64, o->serve.requests, "requests that workers ran") \
    X(requests_per_batch, gauge, operations, RATIO, \
      o->serve.batches ? (double)o->serve.requests / (double)o->serve.batches : 0, \
      "requests run in a mean turn")
/* clang-format on */

const struct counter_info stats_slated_info[] = {SLATED_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

void stats_slated(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct slated_stats here, *const o = &here;
    cache_facts(ctx->server->cache, &o->cache);
    o->adopted = *cache_recovered(ctx->server->cache);
    server_values(ctx->server, &o->serve);
    o->upload_bytes_max = cache_uploads_max_bytes(ctx->server->cache);
    o->uploads_waiting = cache_uploads_waiting(ctx->server->cache, false) +
                        cache_uploads_waiting(ctx->server->cache, true);
    o->log_lost = server_log_lost(ctx->server);
    o->role = role_name(ctx->role);
    o->policy = cache_policy(ctx->server->cache)->name;
    cache_s3fifo(ctx->server->cache, &o->s3fifo);
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
        const struct evict_policy *policy = cache_class_policy(ctx->server->cache, id);
        if (policy != active) {
            text_out_printf(ctx->out, "STAT class:%u:policy %s\r\n", id, policy->name);
        }
    }
}
