/* Pages that change hands: who needs one, which one is to go, how it is emptied and handed over.
 *
 * Threading: as of cache.h. What empties a page is called within a turn of the thread;
 * cache_quiesce and what follows it, outside or within. */
#ifndef SLATE_CACHE_PAGES_H
#define SLATE_CACHE_PAGES_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

/* --- who needs a page --- */
/* A class that needs memory says so here; the tuner looks and clears: those that evicted or had
 * none. */
struct class_set cache_take_hunger(struct cache *);
/* The classes in which values that never came whole may have left pages free, since the last
 * call. */
struct class_set cache_take_left_whole(struct cache *);
/* While on, every eviction of a live item counts as hunger (automove 2); else only a class with
 * nothing left does. */
void cache_set_hunger_on_evict(struct cache *, bool on);
/* A page that a class with nothing left took at once from another, while its set waited. */
struct cache_steal {
    unsigned from_class, to_class;
    uint32_t rescued, evicted, expired; /* items that lived in it */
    uint64_t duration_us;
};
/* Called from the thread that took it, no lock held. Set before other threads begin. */
void cache_on_steal(struct cache *, void (*stolen)(void *, const struct cache_steal *), void *arg);
/* Called (from any thread, no lock held) when hunger goes from none to some, to wake the tuner. */
void cache_on_hunger(struct cache *, void (*wake)(void *), void *arg);

/* --- which page of a class is to leave it --- */
enum page_pick {
    /* the one whose items are worth least: live ones, and more the more they were read lately */
    PICK_LEAST_VALUE,
    PICK_RANDOM,
    /* the one whose items were longest not used, by a sample of them */
    PICK_LEAST_ACCESSED,
    PICK_LEAST_CREATED,  /* the one that the class has had for longest */
};
enum { CACHE_SPARE_MAX = 16 };
/* Up to `max` (at most CACHE_SPARE_MAX) pages of the class, the one to lose first at the front;
 * those that are on the move are left out. By value or use it looks at 80 pages and samples some
 * 1,300 chunks at most; else O(pages of the arena) at a nanosecond each. */
unsigned cache_spare_pages(struct cache_thread *, unsigned class_id, enum page_pick,
                           uint32_t *pages, unsigned max);
/* What a page's live items are worth by a sample of them: the more there are, the more often and
 * the more lately they were used. A measure to compare pages by, also of different classes; 0:
 * nothing lives there. */
uint64_t cache_page_value(const struct cache_thread *, uint32_t page);
/* Whether a page holds a draft or something on its way to a client, as far as a look without a lock
 * can tell: then nothing need be dropped to find out that it cannot be had. O(chunks of the
 * page). */
bool cache_page_in_use(const struct cache *, uint32_t page);
/* the same of one chunk */
bool cache_chunk_in_use(const struct cache *, uint32_t page, uint32_t chunk);
/* When an item of the page was last stored or read, by a sample of 16 chunks and to the precision
 * of their marks, in seconds of clock_now_s. 0: nothing lives in them. */
uint32_t cache_page_used_s(const struct cache *, uint32_t page);

/* Whether everything in a page belongs into its class by the current geometry, as far as a look
 * without a lock can tell. */
bool cache_page_fits(const struct cache *, uint32_t page);

/* --- for the page mover: one chunk of a draining page --- */
enum cache_moved {
    CACHE_MOVED_FREE,    /* it was free, or just became so */
    CACHE_MOVED_RESCUED, /* its item lives in another chunk now */
    /* so does this piece of a chained value, and others in pages on the move: cache_tails_moved
     * says how many */
    CACHE_MOVED_CHUNK,
    CACHE_MOVED_EVICTED, /* its item was dropped: no room, or not worth it */
    CACHE_MOVED_EXPIRED, /* its item was dead anyway */
    CACHE_MOVED_BUSY,    /* a draft, or being sent to a client: try again later */
    CACHE_MOVED_DROPPED, /* its item was dropped, but is still being sent: try again later */
    CACHE_MOVED_NO_ROOM, /* live, but there was no chunk for the copy and `may_evict` is false */
};
enum cache_moved cache_evacuate(struct cache_thread *, uint32_t page, uint32_t chunk,
                                bool may_evict);
unsigned cache_tails_moved(const struct cache_thread *); /* after CACHE_MOVED_CHUNK */
/* Called before the chunk is emptied: prefetches what emptying one some chunks further will touch.
 * A hint only. */
void cache_evacuate_prefetch(const struct cache_thread *, uint32_t page, uint32_t chunk);
/* From now on this thread evicts in order to empty pages, not because stores need memory: each
 * eviction also counts as evicted_by_moves. */
void cache_thread_moves_pages(struct cache_thread *);
/* Live items that this thread has evicted, ever. */
uint64_t cache_thread_evicted(const struct cache_thread *);

/* As cache_evacuate, but into the class that the item's size belongs to. What it evicts leaves no
 * ghost: a class that is short of memory only because its sizes change would gain nothing by a page
 * more. */
enum cache_refit {
    /* where there is a free chunk; else CACHE_MOVED_NO_ROOM, and *wanted is the class that has
     * none */
    CACHE_REFIT_FREE,
    /* or into another chunk of the class it is in; and what was used longest ago goes to make
     * room: in the one class or the other, or the item itself */
    CACHE_REFIT_ROOM,
};
enum cache_moved cache_refit(struct cache_thread *, uint32_t page, uint32_t chunk, enum cache_refit,
                             unsigned *wanted);

/* --- the way of a page from one class to another, the only one there is ---
 *
 *     cache_page_take -> cache_page_pass, in steps, as often as wanted -> cache_page_emptied
 *         -> cache_quiesce -> cache_page_hand_over
 *
 * and cache_page_put_back at any time in place of what would follow. What becomes of a chunk is the
 * caller's choice: the mover and a set that waits evacuate it, a change of sizes refits it. A chunk
 * that looks free may yet be filled by a thread that took it before, so each pass looks at all. */
struct page_take {
    struct cache_thread *ct;
    uint32_t page, chunk_bytes;
    uint32_t at;         /* the next chunk of the pass under way */
    uint32_t bytes_passed; /* by the last call */
};
/* From now on what becomes free in the page belongs to nobody; also what partitions have at hand of
 * it. Within a turn or outside. False: it is not the class's any more, or is on the move already.
 * Cost: a lock of each partition. */
bool cache_page_take(struct page_take *, struct cache_thread *, uint32_t page, unsigned class_id);
/* Goes on with a pass, chunk by chunk, for about so many bytes: `chunk` tries to free one, and
 * returns how many chunks it went over, or 0 to end the pass. Within a turn. False: the pass has
 * ended, and the next call begins another. */
bool cache_page_pass(struct page_take *, uint32_t bytes, unsigned (*chunk)(void *, uint32_t),
                     void *arg);
bool cache_page_emptied(const struct page_take *);
/* To a class, or to the pool when that is SLAB_CLASS_NONE; the page is empty, and cache_quiesce has
 * succeeded since. What it gives back to the system takes its time: some 50 us. */
void cache_page_hand_over(const struct page_take *, unsigned to_class);
void cache_page_put_back(const struct page_take *);

/* --- sets that help: stores into the class that receives, which find nothing free there, empty
 * pages of the one that gives, and hand them over --- */
enum { CACHE_HELP_PAGES = 8 }; /* under way at a time */
struct cache_helped {
    uint32_t pages; /* that sets emptied */
    /* of what lived in pages that sets worked on */
    uint64_t rescued, chunks_rescued, evicted, expired;
};
/* From now on they may begin up to so many pages, the ones of least value, but not the giver's last
 * one, and none while the giver itself is hungry. They go on until cache_help_end, or until this is
 * called for another pair of classes. From the mover's thread, as what follows. */
void     cache_help_begin(struct cache_thread *, unsigned from, unsigned to, uint32_t pages);
struct cache_help_state {
    bool     open;      /* they may begin pages, or go on with some */
    uint32_t pages;     /* that sets emptied, and nobody has counted yet */
    uint32_t left;      /* that may still be begun */
    uint32_t under_way;
    uint64_t bytes;     /* that sets went over, ever */
};
struct cache_help_state cache_help_state(const struct cache *);
/* What sets have done since the last count. */
struct cache_helped cache_help_count(struct cache *);
/* They begin none any more, and those that they have not emptied go back. Waits for a set that
 * works on one. */
void     cache_help_end(struct cache_thread *);

/* An emptied page changes hands once all turns have ended that were under way when it was found
 * empty. Nobody need wait for that: a page that is left here is handed over by a set of its class
 * that finds nothing free, or by cache_help_hand_over, whichever comes first. */
/* False: too many wait already. */
bool     cache_help_leave(struct cache_thread *, const struct page_take *, unsigned to_class);
/* Hands over those that can be. Returns how many still wait. */
unsigned cache_help_hand_over(struct cache_thread *);
/* Waits until none does; after `deadline_us` puts back those that still do. Outside a turn. */
void     cache_help_settle(struct cache_thread *, uint64_t deadline_us);

/* Waits until every other thread has left the turn it was in, so that none holds a reference from
 * before; the caller holds none either. Returns at once when they are idle; false after
 * `deadline_us` of waiting. */
bool cache_quiesce(struct cache_thread *, uint64_t deadline_us);
#endif
