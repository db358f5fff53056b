/* Moves pages between classes while everybody goes on reading and writing.
 *
 *     drain begins (its chunks only become free) -> every chunk is emptied
 *     -> all threads leave their turn -> it changes hands
 *
 * Pages of one move are emptied one after the other and change hands together, because waiting for
 * the turns is what costs. When fewer are wanted meanwhile, it ends with the next. Live items are
 * copied into other chunks of their class while there are any, and dropped when there are none and
 * memory is used up; without evictions (-M) such a page goes back instead. A page in which
 * something is being stored or sent is passed over while there is another; else its chunks are
 * tried again for EMPTY_PATIENCE_US, and nothing in it is dropped. Then it goes back, is left alone
 * for a while, and the next page is tried, at most MOVER_FAILURES_MAX in one move; where somebody
 * waits for the owner (`hurry`) it goes back at once.
 *
 * Where a decision allows it (`helped`), sets that need such pages empty and hand over some
 * themselves (cache/help.c). As long as they do the mover only looks on: on a core that workers
 * fill it would get a fifth of the time, and who needs a page is the one who runs. They go on when
 * the move has ended, until the owner calls cache_help_end: the next decision for the same classes
 * finds them at work. Where the owner allows it (`leaves`), it does not wait for turns either: a
 * move is done when its pages are empty.
 *
 * Threading: the owner's thread alone, outside a turn; what takes time is done by its pace, which
 * may do it on another thread, through the same cache_thread. The counters may be read by anyone,
 * and anyone may set `cancel`. Cost: 0.2 to 1 us a chunk, plus the longest turn of a worker. */
#ifndef SLATE_TUNE_PAGES_MOVER_H
#define SLATE_TUNE_PAGES_MOVER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/decision.h"
#include "tune/pages/pace.h"

enum {
    MOVER_AVOIDED = 8,      /* pages lately given up, which are not tried again for a while */
    MOVER_FAILURES_MAX = 3, /* pages that may go back in one move */
};

struct mover {
    struct cache        *cache;
    struct cache_thread *ct;
    struct pace         *pace; /* the owner's */
    struct { uint32_t page; uint64_t until_us; } avoided[MOVER_AVOIDED];
    unsigned             avoided_at;
    /* Emptied pages may still wait for turns when a move ends: the owner hands them over, if no set
     * does (cache_help_hand_over). */
    bool                 leaves;
    /* true: wait for no page any longer. NULL: there is time. */
    bool               (*hurry)(void *owner);
    /* how many pages are wanted by now; NULL: as many as the move says */
    uint32_t           (*wanted)(void *owner);
    void                *owner;
    /* ends the move under way, which puts its page back; the owner clears it */
    _Atomic bool         cancel;
    _Atomic uint64_t pages_moved, rescues, chunk_rescues, reclaimed, evictions, busy_items,
        busy_deletes, no_room, given_up;
    /* why the last chunk or page could not move: none, draft, reader, no room, turn */
    _Atomic(const char *) last_busy;
};

/* What became of a move. */
struct move_result {
    unsigned    pages;     /* that changed hands */
    unsigned    helped;    /* those of them that sets emptied */
    unsigned    given_up;  /* pages put back */
    /* items; lost are live ones that were evicted for the move */
    uint64_t    rescued, chunks_rescued, lost, expired;
    uint64_t    duration_us;
    const char *why_not;   /* why fewer pages moved than asked for; NULL: they all did */
};

void mover_init(struct mover *, struct cache *, struct cache_thread *, struct pace *);
/* Moves up to `pages` (at most MOVE_PAGES_MAX) from a class or the pool to a class or the pool;
 * the pool is SLAB_CLASS_NONE. Returns how many moved. A class keeps its last page unless the move
 * says otherwise, and a class that is retired gets no page. `result` may be NULL. */
unsigned mover_move(struct mover *, const struct page_move *, struct move_result *);
/* What sets have done with a move since it ended, but for its duration. Returns how many pages. */
unsigned mover_count_help(struct mover *, struct move_result *);
#endif
