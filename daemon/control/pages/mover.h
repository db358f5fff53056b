/* Moves pages between classes while all threads continue to read and write.
 *
 *     drain begins (its chunks only become free) -> every chunk is emptied
 *     -> all threads leave their turn -> the page changes hands
 *
 * The pages of one move are emptied one after the other, and no thread waits for turns: the first
 * thread that sees that they have ended hands the emptied page over, a set of its class or the
 * owner (cache_handover_defer). The move is done when its pages are empty. If fewer pages are
 * wanted meanwhile, the move ends after the current page.
 * Live items are copied into free chunks of their class. When the class has none and memory is used
 * up, items are dropped; without evictions (-M) the page goes back instead. A page in which
 * something is being stored or sent is skipped while there is another page. If there is no other,
 * its chunks are tried for PAGE_WAIT_US, and nothing in it is dropped. Then the page goes back and
 * is avoided for a while, and the next one is tried, at most MOVER_FAILURES_MAX in one move.
 *
 * Where a decision allows it (`assisted`), sets that need such pages empty and hand over some
 * themselves (cache/pages/assist.c). Meanwhile the mover only watches: on a core that workers fill,
 * the mover would get a fifth of the time, whereas the set that needs a page is running. Sets
 * continue after the move, until the owner calls cache_assist_end. So they are still at work when
 * the next decision names the same classes.
 *
 * A move is mover_begin, then mover_step at each time that it returns, until the move has ended. No
 * step waits; copies of memory are jobs of the owner's pace. The next step sees a cancel, or that
 * fewer pages are wanted. Threading: the owner's thread alone, outside a turn.
 * Cost: 0.2 to 1 us a chunk, and a few looks at the turns of workers. */
#ifndef SLATE_CONTROL_PAGES_MOVER_H
#define SLATE_CONTROL_PAGES_MOVER_H
#include "control/decision.h"
#include "control/pages/drain.h"

enum {
    MOVER_AVOIDED = 8,      /* pages that went back lately and are not tried again for a while */
    MOVER_FAILURES_MAX = 3, /* pages that may go back in one move */
};

struct mover {
    struct cache        *cache;
    struct cache_thread *ct;
    struct pace         *pace; /* the owner's */
    bool                 may_assist; /* whether decisions may let sets empty pages */
    struct { uint32_t page; uint64_t until_us; } avoided[MOVER_AVOIDED];
    unsigned             avoided_at;

    /* of the move under way, or of the last one */
    enum { MOVER_ENDED, MOVER_FROM_POOL, MOVER_WATCHES, MOVER_PICKS, MOVER_EMPTIES, MOVER_LEAVES }
                         state;
    struct page_move     move;
    struct move_result   result;
    unsigned             wanted;  /* pages; the owner lowers this when fewer are wanted */
    bool                 cancelled;
    uint64_t             begun_us, due_us;
    uint64_t             watch_until_us, assist_bytes;
    unsigned             emptied; /* pages, by the mover */
    struct picked        picked;
    struct drain         drain;
    /* the pages that drain; `at`: the one that is being emptied; whether something in that page was
     * in use when it began, is in use now; whether all pages are in use */
    struct moving_page   begun[MOVE_PAGES_MAX];
    unsigned             begun_count, at;
    bool                 was_in_use, held, all_in_use;
};

void mover_init(struct mover *, struct cache *, struct cache_thread *, struct pace *);
/* Begins to move up to `pages` (at most MOVE_PAGES_MAX) from a class or the pool to a class or the
 * pool; the pool is SLAB_CLASS_NONE. No move is under way. A class keeps its last page unless the
 * move says otherwise, and a class that is retired gets no page. */
void     mover_begin(struct mover *, const struct page_move *, uint64_t now_us);
/* As of pace.h. PACE_DONE: the move has ended, and `result` is complete. */
uint64_t mover_step(struct mover *, uint64_t now_us);
/* The next step puts back the page that is being emptied; empty pages change hands. */
void     mover_cancel(struct mover *);
void     mover_stop(struct mover *); /* for good: the pace's thread has ended */
/* Adds the work of sets on a move since the last count. Returns how many pages. */
unsigned mover_count_assist(struct mover *, struct move_result *);
#endif
