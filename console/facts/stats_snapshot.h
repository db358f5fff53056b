/* The answers of one refresh of one server as numbers: the tables of stats that slatetop knows, and
 * their parser.
 *
 * A snapshot is plain data: '=' copies it, and snapshot_copy leaves out absent classes: 44 kB for
 * all, 8 kB for forty. A stat that the server did not send, or whose text is no number, is
 * STAT_ABSENT, never zero. Unknown names are skipped, so servers from 1.4 to 1.6 and slated all
 * fit. Adding a stat is one row in a table below. Functions here do no I/O and may be called from
 * any thread. */
#ifndef CONSOLE_FACTS_STATS_SNAPSHOT_H
#define CONSOLE_FACTS_STATS_SNAPSHOT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAT_ABSENT UINT64_MAX
enum { CLASS_LIMIT = 256 }; /* class ids 0..255; servers before 1.4.23 had up to 200 */

/* clang-format off */
/* memcached's storage on flash; the memory pressure is in hundredths of a per cent. */
#define EXTSTORE_STATS(X)                                                                          \
    X(extstore_limit_maxbytes) X(extstore_pages_free) X(extstore_pages_used)                       \
    X(extstore_objects_used) X(extstore_bytes_used) X(extstore_bytes_fragmented)                   \
    X(extstore_io_queue) X(extstore_memory_pressure)                                               \
    X(extstore_page_allocs) X(extstore_page_evictions) X(extstore_page_reclaims)                   \
    X(extstore_objects_written) X(extstore_objects_read) X(extstore_objects_evicted)               \
    X(extstore_bytes_written) X(extstore_bytes_read) X(extstore_bytes_evicted)                     \
    X(extstore_compact_rescues) X(extstore_compact_lost) X(extstore_compact_skipped)               \
    X(get_extstore) X(get_aborted_extstore) X(get_oom_extstore) X(recache_from_extstore)           \
    X(miss_from_extstore) X(badcrc_from_extstore)

/* memcached as a proxy. The last, the number of bad links to backends, is from another reply. */
#define PROXY_STATS(X)                                                                             \
    X(proxy_conn_requests) X(proxy_conn_errors) X(proxy_backend_total) X(proxy_backend_failed)     \
    X(proxy_links_bad)

/* General stats: X(name on the wire). rusage_* arrive as seconds and become microseconds;
 * total_malloced comes with "stats slabs". */
#define GENERAL_STATS(X)                                                                           \
    X(pid) X(uptime) X(rusage_user) X(rusage_system) X(threads)                                    \
    X(max_connections) X(curr_connections) X(rejected_connections)                                 \
    X(listen_disabled_num) X(accepting_conns) X(time)                                              \
    X(cmd_get) X(cmd_set) X(cmd_touch) X(cmd_flush) X(get_hits)                                    \
    X(delete_hits) X(delete_misses) X(incr_hits) X(incr_misses) X(decr_hits) X(decr_misses)        \
    X(bytes_read) X(bytes_written) X(bytes) X(limit_maxbytes) X(curr_items) X(hash_bytes)          \
    X(evictions) X(evicted_unfetched) X(expired_unfetched) X(store_no_memory)                      \
    X(slab_global_page_pool) X(slabs_moved)                                                        \
    X(slab_reassign_evictions_nomem) X(slab_reassign_busy_deletes) X(total_malloced)               \
    EXTSTORE_STATS(X) PROXY_STATS(X)

/* Stats of one class, from "stats slabs" (N:name) and "stats items" (items:N:name). mem_requested
 * is in the one or the other, by version. */
#define CLASS_STATS(X)                                                                             \
    X(chunk_size) X(chunks_per_page) X(total_pages)                                                \
    X(total_chunks) X(used_chunks) X(free_chunks) X(free_chunks_end)                               \
    X(mem_requested) X(get_hits) X(cmd_set)                                                        \
    X(number) X(number_hot) X(number_warm) X(number_cold) X(number_temp) X(age)                    \
    X(evicted) X(evicted_unfetched) X(outofmemory) X(expired_unfetched)

/* Modes of automove: memcached has the first three and calls them by number; slated knows all by
 * name. */
enum { AUTOMOVE_STOCK_MODES = 3, AUTOMOVE_MODES = 7 };

/* Settings that are numbers or switches: yes and on are 1, no and off are 0. A mode of automove is
 * its index in the order of slate.facts.automove; an unknown mode is absent. */
#define SETTING_STATS(X) \
    X(maxconns) X(slab_reassign) X(slab_automove) X(slab_automove_ratio) X(track_sizes) \
    X(growth_factor) X(chunk_size) X(slab_chunk_max) X(item_size_max) \
    X(ext_item_size) X(ext_max_frag) X(ext_drop_unread) X(ext_compact_under) X(proxy_enabled)
/* clang-format on */

#define STAT_AS_ENUM(prefix, name) prefix##name,
#define GENERAL_ENUM(name) STAT_AS_ENUM(GENERAL_, name)
#define CLASS_ENUM(name) STAT_AS_ENUM(CLASS_, name)
#define SETTING_ENUM(name) STAT_AS_ENUM(SETTING_, name)
enum general_stat { GENERAL_STATS(GENERAL_ENUM) GENERAL_COUNT };
enum class_stat { CLASS_STATS(CLASS_ENUM) CLASS_COUNT };
enum setting_stat { SETTING_STATS(SETTING_ENUM) SETTING_COUNT };

/* The replies from which a snapshot is made. */
enum stats_group {
    GROUP_GENERAL,
    GROUP_ITEMS,
    GROUP_SLABS,
    GROUP_SETTINGS,
    GROUP_SLATED,
    GROUP_PROXY_BACKENDS, /* only of a proxy */
    GROUP_COUNT
};

/* as on the wire */
extern const char *const general_stat_names[GENERAL_COUNT], *const class_stat_names[CLASS_COUNT];

struct class_stats {
    bool present;                /* the server named this class in "stats slabs" or "stats items" */
    uint64_t value[CLASS_COUNT]; /* units as on the wire: bytes, chunks, pages, seconds, counts */
};

struct snapshot {
    uint64_t at_ms;       /* monotonic time of the general reply, set by the poller */
    double reply_ms;      /* time from the write of the request to the last reply */
    char version[32];     /* "" when absent; printable ASCII only; slated sends the version of
                             memcached that it is compatible with */
    char own_version[32]; /* slated's own; "" when absent; printable ASCII only */
    char automove[24];    /* slab_automove as the server spells it: slated has modes with names */
    bool is_slated;       /* "stats slated" answered with stats */
    /* what slated lets slatetop do; "" when absent: all, or not known yet */
    char role[8];
    /* slated's --store; "" when absent: classes of chunk sizes, as in memcached */
    char store[12];
    uint64_t general[GENERAL_COUNT];
    uint64_t setting[SETTING_COUNT]; /* fractions (the automove ratio, the growth factor,
                                         ext_max_frag) in thousandths */
    uint64_t class_end; /* classes from this id on are absent; their memory is void */
    struct class_stats classes[CLASS_LIMIT]; /* use snapshot_class, snapshot_add_class */
};

/* Makes every stat absent. */
void snapshot_init(struct snapshot *snapshot);

/* Bytes of the part that is not void; a plain copy of these bytes is a snapshot. */
size_t snapshot_bytes(const struct snapshot *snapshot);

/* Copies a snapshot; does not touch the void part of the copy. */
void snapshot_copy(struct snapshot *copy, const struct snapshot *snapshot);

/* A class by its id, below CLASS_LIMIT; also an absent class. */
const struct class_stats *snapshot_class(const struct snapshot *snapshot, unsigned id);

/* The class for writing: makes one that is not in memory; the caller sets `present`. */
struct class_stats *snapshot_add_class(struct snapshot *snapshot, unsigned id);

/* Reads the STAT lines of one reply; other lines are skipped. Cost: O(bytes). */
void snapshot_parse(struct snapshot *snapshot, enum stats_group group, const char *text,
                    size_t text_bytes);

/* Copies the answers of the slow groups (settings, slated) from an older snapshot. */
void snapshot_inherit(struct snapshot *snapshot, const struct snapshot *older);

/* Free chunks of a class, counting the never-used end of its last page that old servers list apart;
 * STAT_ABSENT if unknown. */
uint64_t snapshot_free_chunks(const struct class_stats *stats);

/* Pages that the free chunks of a class would fill, were they packed: these it could donate
 * cheaply. NAN if unknown. */
double snapshot_free_pages(const struct class_stats *stats);

/* Age in seconds of the oldest item that eviction could take; STAT_ABSENT for an empty or unknown
 * class. */
uint64_t snapshot_tail_age(const struct class_stats *stats);

/* True if slatetop may change the server: its role is admin, or the server has no roles. */
bool snapshot_may_change(const struct snapshot *);

/* The server's program, "slated" or "memcached"; and the version of this program, "" when
 * unknown. */
const char *snapshot_software(const struct snapshot *snapshot);
const char *snapshot_version(const struct snapshot *snapshot);

/* True if there are classes of chunk sizes with movable pages: not in slated's heap and blocks. */
bool snapshot_has_slabs(const struct snapshot *snapshot);

/* True if memcached writes to flash. Its settings for flash are there without flash, too. */
bool snapshot_has_extstore(const struct snapshot *snapshot);

/* True for a proxy; and for a server with a cache: only its figures of a cache mean anything. */
bool snapshot_is_proxy(const struct snapshot *snapshot);
bool snapshot_has_cache(const struct snapshot *snapshot);

/* The memory of items: memcached's `bytes` also counts values on flash. NAN if unknown. */
double snapshot_item_bytes(const struct snapshot *snapshot);

/* STAT_ABSENT becomes NAN. */
double stat_number(uint64_t value);
#endif
