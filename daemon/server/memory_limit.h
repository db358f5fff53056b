/* One limit for the memory of the whole process: items get the memory beside the other parts.
 *
 *   limit  = items + others + slack
 *   others = the larger of: resident memory beyond the items' pages; memory that the other
 *            parts report, with the memory that they may still take
 *
 * The memory that they may still take is known: read_buf_mem_limit bounds read buffers and
 * unread replies, maxconns bounds connections. The two values of `others` are not added: the
 * allocator holds memory that a connection freed, so resident memory lags behind the reports.
 * The slack is for memory that the other parts take between two checks.
 *
 * While the process is below its limit (less the slack), no item is evicted for the limit: the
 * reserve only keeps items from growing. Nearer to the limit the allocator's heap is trimmed
 * first; then items get less, as by `cache_memlimit`.
 *
 * Threading: the control thread checks every MEMORY_ADJUST_US and computes allowed limits; any
 * thread reads the facts. */
#ifndef SLATE_SERVER_MEMORY_LIMIT_H
#define SLATE_SERVER_MEMORY_LIMIT_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rss.h"
#include "cache/cache.h"
#include "control/sampling/whatif.h"
#include "control/tuner.h"
#include "server/config/settings.h"

enum {
    MEMORY_ADJUST_US = 100 * 1000,
    MEMORY_ITEMS_MIN_BYTES =
        8 << 20, /* the least memory of items, as in memcached's cache_memlimit */
};

/* Input of the arithmetic, in bytes. */
struct memory_parts {
    uint64_t limit;    /* of the process; 0: none */
    uint64_t requested;    /* for items, by -m or cache_memlimit */
    uint64_t resident; /* of the process, or of its control group if that is more */
    uint64_t items;    /* the pages of items */
    uint64_t known;    /* reported by the other parts, with what they may still take */
};
/* Pure. Returns the limit of items. While `resident` and the slack fit into the process's limit,
 * the result is not below the pages of items. */
uint64_t memory_items_limit(const struct memory_parts *);

struct memory_facts {
    uint64_t limit_bytes, resident_bytes, resident_most_bytes, group_limit_bytes, group_bytes;
    uint64_t requested_bytes, items_limit_bytes, items_bytes, index_bytes, sample_bytes,
        buffer_bytes, connection_bytes, start_bytes, other_bytes, reserved_bytes;
    uint64_t lowered, raised, trims;
    double   pressure_pct;
};

/* Where the facts come from. All outlive the memory limit. Other threads write the counters with
 * relaxed atomics. */
struct memory_sources {
    struct cache           *cache;
    struct tuner           *tuner;
    const _Atomic uint64_t *buffer_bytes, *reply_bytes, *connections;
};

struct memory_limit {
    struct memory_sources from;
    struct rss  resident;
    uint64_t         start_bytes;  /* resident before the first item, without samples */
    uint64_t         raise_us;     /* since when there is more room for items; 0: none */
    uint64_t         trim_us;      /* earliest time of the next trim */
    pthread_t        trimmer;      /* runs malloc_trim, which may take long */
    bool             has_trimmer;
    _Atomic bool     trims_now;
    /* the limit that is in force in the cache; 0: the requested one */
    _Atomic uint64_t items_limit;
    _Atomic uint64_t resident_most, lowered, raised, trims;
};

/* Puts the first limit of items in force. Called once, when all is built, before the first session.
 * False: the limit of the process, which an option gave, leaves items less than
 * MEMORY_ITEMS_MIN_BYTES; `why` holds a whole sentence. */
bool memory_begin(struct memory_limit *, const struct memory_sources *, const struct settings *,
                  char why[SETTING_WHY_BYTES]);
void memory_end(struct memory_limit *); /* also if memory_begin was never called */
/* Reads the memory in use, and sets a new limit of items where it changed. */
void memory_adjust_limit(struct memory_limit *, const struct settings *, uint64_t now_us);
/* The limit that the cache gets for these settings. */
uint64_t memory_allowed_bytes(const struct memory_limit *, const struct settings *);
/* any thread */
void memory_facts(const struct memory_limit *, const struct settings *, struct memory_facts *);
#endif
