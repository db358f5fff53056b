/* One limit for the memory of the whole process: items get what the other parts leave.
 *
 *   limit = items + others + slack
 *   others = what others have, or what they say that they have and may still take
 *            (whichever is more)
 *
 * What others have is what is resident beyond the items' pages. What they may still take is known:
 * read buffers and unread replies have a limit (read_buf_mem_limit), connections have one
 * (maxconns). The two are not added: resident memory lags behind what parts say, because the
 * allocator keeps what a connection gave back. The slack covers what others take between two looks.
 *
 * While the process is below its limit (less the slack), no item is evicted for it: the reserve
 * only keeps items from growing. Nearer to the limit items get less, as by `cache_memlimit`, once
 * the allocator has been asked for what it keeps.
 *
 * Threading: the control thread looks, every MEMORY_ADJUST_US, and asks what a limit allows; any
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
#include "control/tune.h"
#include "server/config/settings.h"

enum {
    MEMORY_ADJUST_US = 100 * 1000,
    MEMORY_ITEMS_MIN_BYTES =
        8 << 20, /* the least that items keep: memcached's for cache_memlimit */
};

/* What the arithmetic goes by, in bytes. */
struct memory_parts {
    uint64_t limit;    /* of the process; 0: none */
    uint64_t requested;    /* for items, by -m or cache_memlimit */
    uint64_t resident; /* of the process, or of its control group if that has more */
    uint64_t items;    /* the pages they have */
    uint64_t known;    /* what the other parts say that they have and may still take */
};
/* Pure: the limit of items. It is not below the pages of items while `resident` and the slack
 * are within the limit of the process. */
uint64_t memory_items_limit(const struct memory_parts *);

struct memory_facts {
    uint64_t limit_bytes, resident_bytes, resident_most_bytes, group_limit_bytes, group_bytes;
    uint64_t requested_bytes, items_limit_bytes, items_bytes, index_bytes, sample_bytes,
        buffer_bytes, connection_bytes, start_bytes, other_bytes, reserved_bytes;
    uint64_t lowered, raised, trims;
    double   pressure_pct;
};

/* Whom it asks; all outlive it. The counters are written by others with relaxed atomics. */
struct memory_sources {
    struct cache           *cache;
    struct tuner           *tuner;
    const _Atomic uint64_t *buffer_bytes, *reply_bytes, *connections;
};

struct memory_limit {
    struct memory_sources from;
    struct rss  resident;
    uint64_t         start_bytes;  /* resident before there was an item, without samples */
    uint64_t         raise_us;     /* when there was first more room for items; 0: there is none */
    uint64_t         trim_us;      /* when the allocator may be asked again to give memory back */
    pthread_t        trimmer;      /* asks it, since it may look for long at all that it holds */
    bool             has_trimmer;
    _Atomic bool     trims_now;
    /* the limit that the cache was last told; 0: what was asked for */
    _Atomic uint64_t items_limit;
    _Atomic uint64_t resident_most, lowered, raised, trims;
};

/* Puts the first limit of items in force. Called once, when all is built, before the first session.
 * False: the limit of the process, which an option gave, leaves items less than
 * MEMORY_ITEMS_MIN_BYTES; `why` holds a whole sentence. */
bool memory_begin(struct memory_limit *, const struct memory_sources *, const struct settings *,
                  char why[SETTING_WHY_BYTES]);
void memory_end(struct memory_limit *); /* also of one that never began */
/* Looks, and gives items a new limit where that has changed. */
void memory_adjust_limit(struct memory_limit *, const struct settings *, uint64_t now_us);
/* The limit that the cache gets when so much is asked for items. */
uint64_t memory_allowed_bytes(const struct memory_limit *, const struct settings *);
/* any thread */
void memory_facts(const struct memory_limit *, const struct settings *, struct memory_facts *);
#endif
