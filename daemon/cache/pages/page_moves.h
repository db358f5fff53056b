/* Pages that change hands: which classes are starved, which page goes, how a page is emptied and
 * handed over.
 *
 * Threading: as of cache.h. Functions that empty a page are called within a turn of the thread. */
#ifndef SLATE_CACHE_PAGES_PAGE_MOVES_H
#define SLATE_CACHE_PAGES_PAGE_MOVES_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cache/pages/epoch.h"
#include "mem/slab.h"

/* The fate of items in pages on the move. */
struct page_counts {
    uint64_t rescued;        /* moved to another chunk */
    uint64_t chunks_rescued; /* pieces of large values, moved to another chunk */
    uint64_t evicted;        /* live items dropped, also to make room for others */
    uint64_t expired;
};
static inline void page_counts_add(struct page_counts *to, const struct page_counts *more) {
    to->rescued += more->rescued;
    to->chunks_rescued += more->chunks_rescued;
    to->evicted += more->evicted;
    to->expired += more->expired;
}

/* --- starved classes --- */
/* Takes the set of starved classes, and clears it: classes that evicted, or had no free memory. */
struct class_set cache_take_starved(struct cache *);
/* Takes the set of classes in which abandoned uploads may have left pages free. */
struct class_set cache_take_left_free(struct cache *);
/* On: every eviction of a live item starves its class (automove 2). Off: only a class without free
 * memory is starved. */
void cache_set_starved_on_evict(struct cache *, bool on);
/* A page that a class took at once from another class, while its set waited. */
struct cache_steal {
    unsigned           from_class, to_class;
    struct page_counts did;
    uint64_t           duration_us;
};
/* Called from the stealing thread, no lock held. Set before other threads begin. */
void cache_on_steal(struct cache *, void (*stolen)(void *, const struct cache_steal *), void *arg);
/* Called from any thread, without a lock, when the first class becomes starved; wakes the tuner. */
void cache_on_starved(struct cache *, void (*wake)(void *), void *arg);

/* --- the choice of a page --- */
enum page_pick {
    /* the page whose live items are worth least; recent and frequent reads add worth */
    PICK_LEAST_VALUE,
    PICK_RANDOM,
    /* the page whose items were unused for longest, by a sample of them */
    PICK_LEAST_ACCESSED,
    PICK_LEAST_CREATED,  /* the page that the class has had for longest */
    PICK_FREE,           /* only pages without items */
};
enum { CACHE_CHOOSE_MAX = 16 };
/* Writes up to `max` (at most CACHE_CHOOSE_MAX) pages of the class, the best to lose first, without
 * pages on the move. Returns their number. Cost by value or use: a sample of some 1,300 chunks in
 * 80 pages at most; else O(pages of the arena) at a nanosecond each. */
unsigned cache_choose_pages(struct cache_thread *, unsigned class_id, enum page_pick,
                            uint32_t *pages, unsigned max);
/* The worth of a page's live items, by a sample: their number, and how often and how lately they
 * were used. For comparisons, also between classes; 0: the page has no live item. */
uint64_t cache_page_value(const struct cache_thread *, uint32_t page);
/* True if a page holds an upload or a value on its way to a client, by a read without a lock: then
 * no item need be dropped to find that the page cannot be had. O(chunks of the page). */
bool cache_page_in_use(const struct cache *, uint32_t page);
/* The same for one chunk. */
bool cache_chunk_in_use(const struct cache *, uint32_t page, uint32_t chunk);
/* The last use of the page's items in seconds of clock_now_s, by a sample of 16 chunks and the
 * precision of their marks. 0: the sample has no item. */
uint32_t cache_page_used_s(const struct cache *, uint32_t page);

/* True if all contents of a page fit its class in the current geometry, by a read without a
 * lock. */
bool cache_page_fits(const struct cache *, uint32_t page);

/* --- for the page mover: one chunk of a draining page --- */
enum cache_moved {
    CACHE_MOVED_FREE,    /* the chunk is free */
    CACHE_MOVED_RESCUED, /* its item moved to another chunk */
    /* this piece of a chained value moved, with others in pages on the move */
    CACHE_MOVED_CHUNK,
    CACHE_MOVED_EVICTED, /* its item was dropped: no room, or worth less */
    CACHE_MOVED_EXPIRED, /* its item was dead */
    CACHE_MOVED_BUSY,    /* an upload, or being sent to a client: try again later */
    CACHE_MOVED_DROPPED, /* its item was dropped, but is still being sent: try again later */
    /* live, but without a free chunk for the copy, and without EVACUATE_EVICTS */
    CACHE_MOVED_NO_ROOM,
};
/* How cache_evacuate frees a chunk. Without a flag, contents stay if there is no free chunk. */
enum {
    /* Without a free chunk, drops the contents, or evicts the oldest item of a class for a copy. */
    EVACUATE_EVICTS = 1,
    /* Copies contents into the class for their size in the current geometry; into another chunk of
     * their own class only with EVACUATE_EVICTS. Then the oldest item of the two classes makes
     * room. These evictions leave no ghost: a class that is short of memory only because its sizes
     * change would gain nothing by another page. */
    EVACUATE_BY_SIZE = 2,
};
/* Frees one chunk of a draining page. After CACHE_MOVED_NO_ROOM *wanted, which may be NULL, is the
 * class without a free chunk. */
enum cache_moved cache_evacuate(struct cache_thread *, uint32_t page, uint32_t chunk, unsigned how,
                                unsigned *wanted);

/* --- the state machine that moves a page from one class to another, for all drivers ---
 *
 *     NONE -- page_move_begin --> EMPTYING -- its last chunk is free --> EMPTIED
 *          -- every turn from before has ended --> handed over, NONE
 *
 * From page_move_begin on, no class gets the page's free chunks. Passes go over the chunks: a live
 * item is copied to another chunk of its class, or dropped, as the driver wants. A thread that took
 * a free chunk before may still fill it, so each pass goes over all chunks. No lookup finds an
 * empty page, but a thread may still read there in its current turn; so the page waits for those
 * turns. At any time the page may be put back instead.
 *
 *     driver                   a step    what it may drop       wait      the page goes to
 *     the mover (control/pages)   1 KiB     the class's oldest,    100 ms    a class or the pool
 *                                        nothing with -M;
 *                                        nothing: free pages
 *     a set that assists       4 KiB     the class's oldest     5 ms      the set's class
 *     a set in need (steal)    the page  the class's oldest     none      the set's class
 *     a change of sizes        1 KiB     the oldest of two      100 ms    the driver, which
 *                                        classes, or nothing              places it
 *
 * Threading: a moving_page belongs to one thread at a time, and may go from thread to thread
 * between two steps. No lock held. */
enum page_move_state { PAGE_MOVE_NONE, PAGE_MOVE_EMPTYING, PAGE_MOVE_EMPTIED };

/* instead of a class: the driver gets the page, and places it (slab_page_place) */
enum { PAGE_TO_DRIVER = SLAB_CLASSES_MAX };

/* bound on the wait for workers' turns, once a page is empty */
enum { PAGE_WAIT_US = 100 * 1000 };

struct moving_page {
    enum page_move_state state;
    unsigned to;           /* a class, SLAB_CLASS_NONE for the pool, or PAGE_TO_DRIVER */
    uint32_t page, chunk_bytes;
    uint32_t at;           /* next chunk of the pass; 0: a pass begins */
    uint32_t scanned_bytes; /* bytes of the last step */
    uint64_t deadline_us;   /* when the page goes back; 0: the first pass has not ended */
    uint64_t emptied_us;
    uint64_t seen[THREADS_MAX]; /* turns that have to end */
};

/* The driver's parameters: all differences between drivers. */
struct page_driver {
    struct cache_thread *ct;
    uint64_t now_us; /* time of the step */
    uint32_t step_bytes;
    /* After its first pass, passes repeat for this time while something in the page stays in use or
     * finds no room. Then the page goes back. */
    uint64_t wait_us;
    /* put the page back at the first chunk in use */
    bool     at_once;
    /* Tries to free a chunk. NULL: evacuates the chunk, and drops contents without room. */
    enum cache_moved (*chunk)(void *arg, uint32_t page, uint32_t chunk);
    void    *arg;
    struct page_counts did; /* sum over all steps */
};

/* Begins to drain a page, and takes the page's chunks out of magazines. A completely free page is
 * EMPTIED at once. False: the page left the class, or is on the move, or the class would have fewer
 * than `min_left` pages. Call outside a turn, or within a turn without references. Cost: a lock of
 * each partition. */
bool page_move_begin(struct moving_page *, struct cache_thread *, uint32_t page, unsigned from,
                     unsigned to, uint32_t min_left);
/* Takes the next step. EMPTYING: goes over step_bytes of the page, or one larger chunk, within a
 * turn without references; 0.2 to 1 us a chunk. EMPTIED: hands the page over if all turns have
 * ended, some 50 us if memory goes back to the system; within a turn or outside. Returns true if
 * the page changed hands. False: the page is still EMPTYING or EMPTIED, or NONE: it went back. */
bool page_move_step(struct moving_page *, struct page_driver *);
/* Waits outside its own turn until an emptied page has changed hands. False: the page was not
 * empty, or a turn lasts until `until_us`; the page went back. */
bool page_move_finish(struct moving_page *, struct cache_thread *, uint64_t until_us);
/* Returns the page's chunks to the class; no effect on a page that is not on the move. */
void page_move_put_back(struct moving_page *, struct cache_thread *);

/* --- assist: stores into the receiving class that find no free chunk empty pages of the donor, and
 * hand them over --- */
enum { CACHE_ASSIST_PAGES = 8 }; /* pages under way at a time */
struct cache_assisted {
    uint32_t           pages; /* pages emptied by sets */
    struct page_counts did;   /* items in pages on which sets worked */
};
/* Sets may begin up to so many pages, those of least value, but not the donor's last page, and none
 * while the donor itself is starved. Lasts until cache_assist_end, or until a call for another pair
 * of classes. From the mover's thread, like the next functions; none of them waits. */
void     cache_assist_begin(struct cache_thread *, unsigned from, unsigned to, uint32_t pages);
struct cache_assist_state {
    bool     open;      /* sets may begin pages, or continue some */
    uint32_t pages;     /* emptied by sets, not counted yet */
    uint32_t left;      /* that sets may still begin */
    uint32_t under_way;
    uint64_t bytes;     /* that sets went over since the start */
};
struct cache_assist_state cache_assist_state(const struct cache *);
/* Takes the counts of sets since the last call. */
struct cache_assisted cache_assist_count(struct cache *);
/* Sets begin no more pages. Pages that are not empty go back; a page on which a set works goes back
 * when that set has done its part. */
void     cache_assist_end(struct cache_thread *);

/* Defers the handover of an emptied page, so that the caller need not wait for turns. A set of the
 * page's class that finds no free chunk hands the page over, or cache_handover_step, whichever
 * comes first. False: too many pages are deferred already. */
bool     cache_handover_defer(struct cache_thread *, const struct moving_page *);
/* Hands over one deferred page, if its turns have ended. False: none was handed over. */
bool     cache_handover_step(struct cache_thread *);
unsigned cache_handover_waiting(const struct cache *); /* deferred pages */
/* Waits until no page is deferred; after `deadline_us` puts the others back. Outside a turn. */
void     cache_handover_finish(struct cache_thread *, uint64_t deadline_us);

/* Notes the turns of other threads. Once these have ended, no thread holds a reference from before;
 * the caller holds none either. */
void cache_turns_note(const struct cache_thread *, uint64_t seen[THREADS_MAX]);
bool cache_turns_ended(const struct cache *, const uint64_t seen[THREADS_MAX]);
/* Waits until the turns of all other threads have ended; at once if they are idle. False: the wait
 * took longer than `deadline_us`. */
bool cache_quiesce(struct cache_thread *, uint64_t deadline_us);
#endif
