/* Pages that change hands: who needs one, which one is to go, how it is emptied and handed over.
 *
 * Threading: as of cache.h. What empties a page is called within a turn of the thread. */
#ifndef SLATE_CACHE_PAGES_PAGE_MOVES_H
#define SLATE_CACHE_PAGES_PAGE_MOVES_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cache/pages/epoch.h"
#include "mem/slab.h"

/* What became of the items that lived in pages on the move. */
struct page_counts {
    uint64_t rescued;        /* they live in another chunk now */
    uint64_t chunks_rescued; /* pieces of large values: likewise */
    uint64_t evicted;        /* live ones that were dropped, also to make room for others */
    uint64_t expired;
};
static inline void page_counts_add(struct page_counts *to, const struct page_counts *more) {
    to->rescued += more->rescued;
    to->chunks_rescued += more->chunks_rescued;
    to->evicted += more->evicted;
    to->expired += more->expired;
}

/* --- who needs a page --- */
/* A class that needs memory says so here; the tuner looks and clears: those that evicted or had
 * none. */
struct class_set cache_take_starved(struct cache *);
/* The classes in which values that never came whole may have left pages free, since the last
 * call. */
struct class_set cache_take_left_free(struct cache *);
/* While on, every eviction of a live item counts as hunger (automove 2); else only a class with
 * nothing left does. */
void cache_set_starved_on_evict(struct cache *, bool on);
/* A page that a class with nothing left took at once from another, while its set waited. */
struct cache_steal {
    unsigned           from_class, to_class;
    struct page_counts did;
    uint64_t           duration_us;
};
/* Called from the thread that took it, no lock held. Set before other threads begin. */
void cache_on_steal(struct cache *, void (*stolen)(void *, const struct cache_steal *), void *arg);
/* Called (from any thread, no lock held) when hunger goes from none to some, to wake the tuner. */
void cache_on_starved(struct cache *, void (*wake)(void *), void *arg);

/* --- which page of a class is to leave it --- */
enum page_pick {
    /* the one whose items are worth least: live ones, and more the more they were read lately */
    PICK_LEAST_VALUE,
    PICK_RANDOM,
    /* the one whose items were longest not used, by a sample of them */
    PICK_LEAST_ACCESSED,
    PICK_LEAST_CREATED,  /* the one that the class has had for longest */
    PICK_FREE,           /* only pages in which nothing lives */
};
enum { CACHE_CHOOSE_MAX = 16 };
/* Up to `max` (at most CACHE_CHOOSE_MAX) pages of the class, the one to lose first at the front;
 * those that are on the move are left out. By value or use it looks at 80 pages and samples some
 * 1,300 chunks at most; else O(pages of the arena) at a nanosecond each. */
unsigned cache_choose_pages(struct cache_thread *, unsigned class_id, enum page_pick,
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
    /* so does this piece of a chained value, and others in pages on the move */
    CACHE_MOVED_CHUNK,
    CACHE_MOVED_EVICTED, /* its item was dropped: no room, or not worth it */
    CACHE_MOVED_EXPIRED, /* its item was dead anyway */
    CACHE_MOVED_BUSY,    /* a draft, or being sent to a client: try again later */
    CACHE_MOVED_DROPPED, /* its item was dropped, but is still being sent: try again later */
    CACHE_MOVED_NO_ROOM, /* live, but there was no chunk for the copy and `may_evict` is false */
};
/* How cache_evacuate frees a chunk; with neither flag what finds no free chunk stays. */
enum {
    /* What finds no free chunk is dropped, or the oldest item of a class makes room for it. */
    EVACUATE_EVICTS = 1,
    /* Contents go into the class that their size belongs to by the current geometry, and into
     * another chunk of their own class only with EVACUATE_EVICTS. Then the oldest item of the two
     * classes makes room. What is evicted leaves no ghost: a class that is short of memory only
     * because its sizes change would gain nothing by a page more. */
    EVACUATE_BY_SIZE = 2,
};
/* Frees one chunk of a draining page. After CACHE_MOVED_NO_ROOM *wanted, which may be NULL, is the
 * class that has no free chunk. */
enum cache_moved cache_evacuate(struct cache_thread *, uint32_t page, uint32_t chunk, unsigned how,
                                unsigned *wanted);

/* --- the way of a page from one class to another, the only one there is, whoever drives it ---
 *
 *     NONE -- page_move_begin --> EMPTYING -- its last chunk is free --> EMPTIED
 *          -- every turn from before has ended --> handed over, NONE
 *
 * From the beginning on, what becomes free in the page belongs to nobody. Passes go over its
 * chunks: a live item is copied to another chunk of its class, or makes room, as the driver wants.
 * A chunk that looks free may yet be filled by a thread that took it before, so each pass looks at
 * all. Once the page is empty nobody finds anything in it, but a thread may still read there in the
 * turn that it was in; so the page waits for those turns. At any time it may be put back instead.
 *
 *     driver                   a step    what it may drop       patience  the page goes to
 *     the mover (control/pages)   1 KiB     the class's oldest,    100 ms    a class or the pool
 *                                        nothing with -M;
 *                                        nothing: free pages
 *     a set that helps it      4 KiB     the class's oldest     5 ms      the set's class
 *     a set in need (steal)    the page  the class's oldest     none      the set's class
 *     a change of sizes        1 KiB     the oldest of two      100 ms    the driver, which
 *                                        classes, or nothing              places it
 *
 * Threading: a moving_page belongs to one thread at a time, and may go from thread to thread
 * between two steps. No lock held. */
enum page_move_state { PAGE_MOVE_NONE, PAGE_MOVE_EMPTYING, PAGE_MOVE_EMPTIED };

/* in place of a class: the driver gets the page, and places it (slab_page_place) */
enum { PAGE_TO_DRIVER = SLAB_CLASSES_MAX };

/* Once a page is empty, a worker's turn may last this long. */
enum { PAGE_WAIT_US = 100 * 1000 };

struct moving_page {
    enum page_move_state state;
    unsigned to;           /* a class, SLAB_CLASS_NONE for the pool, or PAGE_TO_DRIVER */
    uint32_t page, chunk_bytes;
    uint32_t at;           /* the next chunk of the pass under way; 0: a pass begins */
    uint32_t scanned_bytes; /* by the last step */
    uint64_t give_up_us;   /* when the page goes back; 0: the first pass has not ended */
    uint64_t emptied_us;
    uint64_t seen[THREADS_MAX]; /* the turns that have to end */
};

/* Who drives, and how: the only things that differ. */
struct page_driver {
    struct cache_thread *ct;
    uint64_t now_us; /* of the step */
    uint32_t step_bytes;
    /* So long after its first pass a page in which something stays in use, or finds no room, is
     * gone over again. Then it goes back. */
    uint64_t wait_us;
    /* the first chunk that is in use puts the page back */
    bool     at_once;
    /* Frees a chunk, if it can be. NULL: evacuates it, and what finds no room is dropped. */
    enum cache_moved (*chunk)(void *arg, uint32_t page, uint32_t chunk);
    void    *arg;
    struct page_counts did; /* steps add to it */
};

/* Takes what partitions have at hand of the page, too. A page that is free as a whole is EMPTIED at
 * once. False: it is not the class's any more, or is on the move already, or the class would not
 * keep `kept` pages that stay. Within a turn, in which the thread holds no reference, or outside.
 * Cost: a lock of each partition. */
bool page_move_begin(struct moving_page *, struct cache_thread *, uint32_t page, unsigned from,
                     unsigned to, uint32_t kept);
/* The next step. EMPTYING: goes over step_bytes of the page, or one larger chunk, within a turn in
 * which the thread holds no reference; 0.2 to 1 us a chunk. EMPTIED: hands the page over if all
 * turns have ended, some 50 us where memory goes back to the system; within a turn or outside.
 * Returns true if the page changed hands. It may be EMPTYING or EMPTIED still; NONE and false: it
 * went back. */
bool page_move_step(struct moving_page *, struct page_driver *);
/* Waits until an emptied page has changed hands, and leaves its own turn for that. False: it was
 * not empty, or a turn lasts until `until_us`; the page went back. */
bool page_move_finish(struct moving_page *, struct cache_thread *, uint64_t until_us);
/* Its chunks are the class's again; nothing for a page that is not on the move. */
void page_move_put_back(struct moving_page *, struct cache_thread *);

/* --- sets that help: stores into the class that receives, which find nothing free there, empty
 * pages of the one that gives, and hand them over --- */
enum { CACHE_ASSIST_PAGES = 8 }; /* under way at a time */
struct cache_assisted {
    uint32_t           pages; /* that sets emptied */
    struct page_counts did;   /* in pages that sets worked on */
};
/* From now on they may begin up to so many pages, the ones of least value, but not the giver's last
 * one, and none while the donor itself is starved. They go on until cache_assist_end, or until this
 * is called for another pair of classes. From the mover's thread, as what follows; nobody waits. */
void     cache_assist_begin(struct cache_thread *, unsigned from, unsigned to, uint32_t pages);
struct cache_assist_state {
    bool     open;      /* they may begin pages, or go on with some */
    uint32_t pages;     /* that sets emptied, and nobody has counted yet */
    uint32_t left;      /* that may still be begun */
    uint32_t under_way;
    uint64_t bytes;     /* that sets went over, ever */
};
struct cache_assist_state cache_assist_state(const struct cache *);
/* What sets have done since the last count. */
struct cache_assisted cache_assist_count(struct cache *);
/* They begin none any more, and those that they have not emptied go back; one that a set works on
 * does when the set has done its part. */
void     cache_assist_end(struct cache_thread *);

/* Nobody need wait for the turns before an emptied page changes hands. One that is left here is
 * handed over by a set of its class that finds nothing free, or by cache_handover_step, whichever
 * comes first. False: too many wait already. */
bool     cache_handover_defer(struct cache_thread *, const struct moving_page *);
/* Hands over one that can be. False: none can. */
bool     cache_handover_step(struct cache_thread *);
unsigned cache_handover_waiting(const struct cache *); /* how many wait */
/* Waits until none does; after `deadline_us` puts back those that still do. Outside a turn. */
void     cache_handover_finish(struct cache_thread *, uint64_t deadline_us);

/* Notes the turns that other threads are in. Once these have ended none of them holds a reference
 * from before; the caller holds none either. */
void cache_turns_note(const struct cache_thread *, uint64_t seen[THREADS_MAX]);
bool cache_turns_ended(const struct cache *, const uint64_t seen[THREADS_MAX]);
/* Waits for that. Returns at once when they are idle; false after `deadline_us` of waiting. */
bool cache_quiesce(struct cache_thread *, uint64_t deadline_us);
#endif
