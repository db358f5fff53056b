/* `stats`: exactly memcached's names, in memcached's order. */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/process/process.h"
#include "server/stats/stats.h"
#include "server/process/version.h"

struct general {
    struct settings           settings;
    struct rusage             usage;
    struct cache_facts        cache;
    struct cache_class_values classes; /* sums over the classes */
    struct serve_values       serve;
    struct tuner_facts tune;
    struct watch_facts        watch;
    struct server_baseline    base;
    const struct server_conns *conns;
    const struct server_tls   *tls;
    const char *event_version;
    unsigned    hash_power;
};

#define CONNS(field) atomic_load_explicit(&g->conns->field, memory_order_relaxed)
#define TLS(field) atomic_load_explicit(&g->tls->field, memory_order_relaxed)
#define MOVED(field) (g->tune.field - g->base.tune.field)
#define WATCH(field) (g->watch.field - g->base.watch.field)

/* A statistic of a feature that slated lacks is 0, as in a memcached that does not use the feature.
 * A WITH row is shown only if its first argument holds, as in memcached. */
/* clang-format off */
#define GENERAL_STATS(X, WITH) \
    X(pid, gauge, id, U64, getpid(), "process id") \
    X(uptime, gauge, seconds, U64, clock_uptime_s(), "time since the server started") \
    X(time, gauge, seconds, U64, clock_unix_s(clock_now_s()), "the server's clock, unix time") \
    X(version, text, version, TEXT, SLATE_PROTOCOL_VERSION, \
      "the memcached whose protocol this is") \
    X(libevent, text, version, TEXT, g->event_version, "the event library's version") \
    X(pointer_size, gauge, bits, U64, 8 * sizeof(void *), "size of a pointer") \
    X(rusage_user, counter, seconds, SECONDS, g->usage.ru_utime, \
      "processor time of the server's own code") \
    X(rusage_system, counter, seconds, SECONDS, g->usage.ru_stime, \
      "processor time of the kernel for the server") \
    X(max_connections, gauge, connections, U64, g->settings.maxconns, \
      "connections that may be open at once") \
    X(curr_connections, gauge, connections, U64, CONNS(current), "connections open now") \
    X(total_connections, counter, connections, U64, CONNS(total) - g->base.conns_total, \
      "connections ever accepted") \
    WITH(g->settings.maxconns_fast, rejected_connections, counter, connections, U64, \
         CONNS(rejected) - g->base.conns_rejected, \
         "connections turned away at the limit; shown with maxconns_fast") \
    X(connection_structures, gauge, connections, U64, CONNS(structures), \
      "connection objects that exist, in use or kept for the next") \
    X(response_obj_oom, counter, operations, U64, g->serve.response_obj_oom, \
      "connections closed because there was no memory for replies that they did not take " \
      "(read_buf_mem_limit)") \
    X(response_obj_count, gauge, connections, U64, CONNS(reply_count), \
      "connections whose replies wait to be taken") \
    X(response_obj_bytes, gauge, bytes, U64, CONNS(reply_bytes), \
      "memory of replies that wait to be taken") \
    X(read_buf_count, gauge, buffers, U64, CONNS(buffer_count), \
      "read buffers of workers and connections") \
    X(read_buf_bytes, gauge, bytes, U64, CONNS(buffer_bytes), "memory of read buffers") \
    X(read_buf_bytes_free, gauge, bytes, U64, CONNS(buffer_free_bytes), \
      "memory of read buffers that hold no bytes") \
    X(read_buf_oom, counter, operations, U64, g->serve.read_buf_oom, \
      "connections closed because there was no memory for their requests (read_buf_mem_limit)") \
    X(reserved_fds, gauge, descriptors, U64, \
      process_descriptors_reserved((unsigned)g->settings.threads), \
      "descriptors kept for the server itself") \
    X(cmd_get, counter, operations, U64, g->cache.counters.cmd_get, "keys requested") \
    X(cmd_set, counter, operations, U64, g->cache.counters.cmd_set, \
      "values stored or refused after their data came") \
    X(cmd_flush, counter, operations, U64, g->serve.cmd_flush, "flush_all commands") \
    X(cmd_touch, counter, operations, U64, g->cache.counters.cmd_touch, \
      "touches, with those of gat") \
    X(cmd_meta, counter, operations, U64, g->serve.cmd_meta, "meta commands") \
    X(get_hits, counter, operations, U64, g->cache.counters.get_hits, "keys that a read found") \
    X(get_misses, counter, operations, U64, g->cache.counters.get_misses, \
      "keys that a read did not find") \
    X(get_expired, counter, operations, U64, g->cache.counters.get_expired, \
      "lookups of a key whose item had expired") \
    X(get_flushed, counter, operations, U64, g->cache.counters.get_flushed, \
      "lookups of a key whose item had been flushed") \
    X(delete_misses, counter, operations, U64, g->cache.counters.delete_misses, \
      "deletes that did not find their key") \
    X(delete_hits, counter, operations, U64, g->cache.counters.delete_hits, \
      "deletes that found their key") \
    X(incr_misses, counter, operations, U64, g->cache.counters.incr_misses, \
      "increments that did not find their key") \
    X(incr_hits, counter, operations, U64, g->cache.counters.incr_hits, \
      "increments that found their key") \
    X(decr_misses, counter, operations, U64, g->cache.counters.decr_misses, \
      "decrements that did not find their key") \
    X(decr_hits, counter, operations, U64, g->cache.counters.decr_hits, \
      "decrements that found their key") \
    X(cas_misses, counter, operations, U64, g->cache.counters.cas_misses, \
      "compare-and-swap stores of a missing key") \
    X(cas_hits, counter, operations, U64, g->cache.counters.cas_hits, \
      "compare-and-swap stores that matched") \
    X(cas_badval, counter, operations, U64, g->cache.counters.cas_badval, \
      "compare-and-swap stores whose CAS did not match") \
    X(touch_hits, counter, operations, U64, g->cache.counters.touch_hits, \
      "touches that found their key") \
    X(touch_misses, counter, operations, U64, g->cache.counters.touch_misses, \
      "touches that did not find their key") \
    X(store_too_large, counter, operations, U64, g->cache.counters.store_too_large, \
      "values refused as larger than the item limit") \
    X(store_no_memory, counter, operations, U64, g->cache.counters.store_no_memory, \
      "values refused for lack of memory") \
    X(auth_cmds, counter, operations, U64, g->serve.auth_cmds, "authentication attempts") \
    X(auth_errors, counter, operations, U64, g->serve.auth_errors, "authentication failures") \
    WITH(g->settings.idle_timeout > 0, idle_kicks, counter, connections, U64, g->serve.idle_kicks, \
         "connections closed for being idle; shown with idle_timeout") \
    X(bytes_read, counter, bytes, U64, g->serve.bytes_read, "bytes received from clients") \
    X(bytes_written, counter, bytes, U64, g->serve.bytes_written, "bytes sent to clients") \
    X(limit_maxbytes, gauge, bytes, U64, g->settings.maxbytes, "memory for items") \
    X(accepting_conns, gauge, flag, U64, CONNS(accepting), \
      "1: connections are accepted; 0: the limit is reached") \
    X(listen_disabled_num, counter, operations, U64, \
      CONNS(listen_disabled_num) - g->base.listen_disabled_num, \
      "times that accepting stopped at the limit") \
    X(time_in_listen_disabled_us, counter, microseconds, U64, \
      CONNS(listen_disabled_us) - g->base.listen_disabled_us, \
      "time during which accepting was stopped") \
    X(threads, gauge, threads, U64, g->settings.threads, "worker threads") \
    X(conn_yields, counter, operations, U64, g->serve.conn_yields, \
      "turns that a connection ended with work left, for others to have theirs") \
    X(hash_power_level, gauge, power, U64, g->hash_power, "the index's buckets, as a power of 2") \
    X(hash_bytes, gauge, bytes, U64, g->cache.index_bytes, "memory of the index") \
    X(hash_is_expanding, gauge, flag, U64, 0, "always 0: the index grows without a pause") \
    WITH(g->settings.slab_reassign, slab_reassign_rescues, counter, items, U64, \
         MOVED(moved.did.rescued), \
         "items copied out of moving pages; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_chunk_rescues, counter, chunks, U64, \
         MOVED(moved.did.chunks_rescued), \
         "pieces of large values copied out of moving pages; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_inline_reclaim, counter, items, U64, \
         MOVED(moved.did.expired), \
         "items freed, evicted or expired ones, to make room for those that moving pages rescue; " \
         "shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_busy_items, counter, items, U64, \
         MOVED(moved.busy_items), \
         "times that an item of a moving page had to be tried again because it was being sent or " \
         "stored; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_busy_deletes, counter, items, U64, \
         MOVED(moved.busy_deletes), \
         "items dropped from moving pages while they were being sent; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_busy_nomem, counter, items, U64, \
         MOVED(moved.no_room), \
         "items of moving pages for whose copy there was no memory; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_last_busy_status, text, reason, TEXT, \
         decision_busy_name(g->tune.moved.last_busy), \
         "the latest reason why an item could not be moved; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slab_reassign_running, gauge, flag, U64, g->tune.moving, \
         "1: a page is being moved, or its move was requested; shown with slab_reassign") \
    WITH(g->settings.slab_reassign, slabs_moved, counter, pages, U64, MOVED(moved.pages), \
         "pages moved between classes; shown with slab_reassign") \
    WITH(g->settings.lru_crawler, lru_crawler_running, gauge, flag, U64, g->tune.crawling, \
         "1: the crawler looks for expired items; shown with the crawler") \
    WITH(g->settings.lru_crawler, lru_crawler_starts, counter, operations, U64, \
         MOVED(crawler_starts), "times the crawler started; shown with the crawler") \
    WITH(g->settings.lru_maintainer, lru_maintainer_juggles, counter, items, U64, \
         g->classes.moves_to_cold + g->classes.moves_to_warm + g->classes.moves_within_lru, \
         "items moved within and between the eviction queues; shown with lru_maintainer") \
    X(malloc_fails, counter, operations, U64, 0, "always 0") \
    X(log_worker_dropped, counter, events, U64, WATCH(worker_dropped), \
      "events that watchers miss because a thread's buffer was full (worker_logbuf_size)") \
    X(log_worker_written, counter, events, U64, WATCH(worker_written), \
      "events that threads wrote for watchers") \
    X(log_watcher_skipped, counter, lines, U64, WATCH(watcher_skipped), \
      "lines that watchers miss because they did not take them in time (watcher_logbuf_size)") \
    X(log_watcher_sent, counter, lines, U64, WATCH(watcher_sent), "lines sent to watchers") \
    X(log_watchers, gauge, connections, U64, g->watch.watchers, "connections that watch") \
    WITH(g->settings.ssl_enabled && g->settings.ssl_session_cache, ssl_new_sessions, counter, \
         sessions, U64, TLS(new_sessions) - g->base.new_sessions, \
         "TLS sessions that clients may resume; shown with ssl_session_cache") \
    WITH(g->settings.ssl_enabled, ssl_handshake_errors, counter, connections, U64, \
         TLS(handshake_errors) - g->base.handshake_errors, \
         "connections whose TLS handshake failed; shown with TLS") \
    WITH(g->settings.ssl_enabled, ssl_proto_errors, counter, connections, U64, \
         TLS(proto_errors) - g->base.proto_errors, "TLS sessions that broke; shown with TLS") \
    WITH(g->settings.ssl_enabled, time_since_server_cert_refresh, gauge, seconds, U64, \
         clock_now_s() - TLS(loaded_s), "time since the certificates were read; shown with TLS") \
    X(unexpected_napi_ids, counter, operations, U64, 0, \
      "always 0: threads are not chosen by NAPI id") \
    X(round_robin_fallback, counter, operations, U64, 0, \
      "always 0: threads are not chosen by NAPI id") \
    X(bytes, gauge, bytes, U64, g->cache.bytes, "header, key and value bytes of all items") \
    X(curr_items, gauge, items, U64, g->cache.items, "items stored now") \
    X(total_items, counter, items, U64, g->cache.counters.total_items, "items ever stored") \
    X(slab_global_page_pool, gauge, pages, U64, \
      g->settings.like_memcached ? g->cache.pages_returned : g->cache.pages_free, \
      "pages that no class has; with like_memcached, only those that a class gave back") \
    X(expired_unfetched, counter, items, U64, g->classes.expired_unfetched, \
      "expired items never read, found by the sweep, at a queue's end or by the crawler") \
    X(evicted_unfetched, counter, items, U64, g->classes.evicted_unfetched, \
      "evicted items never read") \
    WITH(g->settings.lru_maintainer, evicted_active, counter, items, U64, \
         g->classes.evicted_active, "evicted items read lately; shown with lru_maintainer") \
    X(evictions, counter, items, U64, g->classes.evicted, "live items dropped to make room") \
    X(reclaimed, counter, items, U64, g->classes.reclaimed, \
      "expired and flushed items found by the sweep or at a queue's end") \
    X(crawler_reclaimed, counter, items, U64, g->classes.crawler_reclaimed, \
      "expired and flushed items freed by the crawler") \
    X(crawler_items_checked, counter, items, U64, g->classes.crawler_items_checked, \
      "items the crawler read") \
    X(lrutail_reflocked, counter, items, U64, 0, \
      "always 0: the search for a victim passes over an item that is being sent") \
    WITH(g->settings.lru_maintainer, moves_to_cold, counter, items, U64, g->classes.moves_to_cold, \
         "items moved to the cold queue; shown with lru_maintainer") \
    WITH(g->settings.lru_maintainer, moves_to_warm, counter, items, U64, g->classes.moves_to_warm, \
         "items moved to the warm queue; shown with lru_maintainer") \
    WITH(g->settings.lru_maintainer, moves_within_lru, counter, items, U64, \
         g->classes.moves_within_lru, \
         "items given another round in their queue; shown with lru_maintainer") \
    WITH(g->settings.lru_maintainer, direct_reclaims, counter, items, U64, \
         g->classes.direct_reclaims, \
         "evictions made by the store that needed the memory; shown with lru_maintainer") \
    WITH(g->settings.lru_maintainer, lru_bumps_dropped, counter, operations, U64, 0, \
         "always 0: a hit is noted at once; shown with lru_maintainer")
/* clang-format on */

#define INFO_WITH(shown, name, kind, unit, type, value, help) \
    STATS_INFO(name, kind, unit, type, value, help)
#define PUT_WITH(shown, name, kind, unit, type, value, help)  \
    if (shown) {                                              \
        STATS_PUT(name, kind, unit, type, value, help)        \
    }

const struct counter_info stats_general_info[] = {
    GENERAL_STATS(STATS_INFO, INFO_WITH){NULL, NULL, NULL, NULL}};

static void general_gather(struct server *server, struct general *g) {
    server_settings(server, &g->settings);
    getrusage(RUSAGE_SELF, &g->usage);
    cache_facts(server->cache, &g->cache);
    cache_classes_counters(server->cache, &g->classes);
    server_values(server, &g->serve);
    tuner_facts(server->tuner, &g->tune);
    watch_facts(&g->watch);
    server_baseline(server, &g->base);
    g->conns = &server->conns;
    g->tls = &server->tls;
    g->event_version = server->event_version;
    g->hash_power = 0;
    while (g->hash_power < 63 && (uint64_t)2 << g->hash_power <= g->cache.index_buckets) {
        g->hash_power++;
    }
}

void stats_general(struct command_context *ctx) {
    struct general here, *const g = &here;
    struct text_out *out = ctx->out;
    general_gather(ctx->server, g);
    GENERAL_STATS(STATS_PUT, PUT_WITH)
}
