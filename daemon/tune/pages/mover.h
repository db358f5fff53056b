/* Moves pages between classes while all threads go on reading and writing.
 *
 *     drain begins (its chunks only become free) -> every chunk is emptied
 *     -> all threads leave their turn -> the page changes hands
 *
 * The pages of one move are emptied one after the other and change hands together, because the wait
 * for turns is what costs. If fewer pages are wanted meanwhile, the move ends with the next one.
 * Live items are copied into other chunks of their class while the class has any. When it has none
 * and memory is used up, items are dropped; without evictions (-M) the page goes back instead. A
 * page in which something is being stored or sent is passed over while there is another page. If
 * there is no other, its chunks are tried for PAGE_PATIENCE_US, and nothing in it is dropped. Then
 * the page goes back and is left alone for a while, and the next one is tried, at most
 * MOVER_FAILURES_MAX in one move. While somebody waits for the owner (`hurry`), such a page goes
 * back at once.
 *
 * Where a decision allows it (`helped`), sets that need such pages empty and hand over some
 * themselves (cache/help.c). While they do so the mover only looks on: on a core that workers fill
 * it would get a fifth of the time, whereas the set that needs a page is running. Sets go on when
 * the move has ended, until the owner calls cache_help_end, so the next decision for the same
 * classes finds them at work. Where the owner allows it (`leaves`), the mover does not wait for
 * turns either: the move is done when its pages are empty.
 *
 * Threading: the owner's thread alone, outside a turn. The owner's pace does what takes time, and
 * may do it on another thread, through the same cache_thread. Any thread may set `cancel`.
 * Cost: 0.2 to 1 us a chunk, and the longest turn of a worker. */
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
    /* A move may end while its emptied pages wait for turns. If no set hands them over, the owner
     * does (cache_help_hand_over). */
    bool                 leaves;
    /* Whether somebody waits, so that no page is to be waited for. NULL: nobody ever does. */
    bool               (*hurry)(void *owner);
    /* How many pages are wanted now; NULL: as many as the move says. */
    uint32_t           (*wanted)(void *owner);
    void                *owner;
    /* set by any thread to end the move under way, which puts its page back; the owner clears it */
    _Atomic bool         cancel;
};

void mover_init(struct mover *, struct cache *, struct cache_thread *, struct pace *);
/* Moves up to `pages` (at most MOVE_PAGES_MAX) from a class or the pool to a class or the pool;
 * the pool is SLAB_CLASS_NONE. Returns how many moved. A class keeps its last page unless the move
 * says otherwise, and a class that is retired gets no page. */
unsigned mover_move(struct mover *, const struct page_move *, struct move_result *);
/* Adds what sets have done with a move since the last count. Returns how many pages. */
unsigned mover_count_help(struct mover *, struct move_result *);
#endif
