/* Gives to the pool the pages that values left free which never came whole: the class may have got
 * them for those values alone, and another class may be evicting meanwhile. It moves and drops
 * nothing for that: a page into which something was stored since stays. */
#include <stdio.h>

#include "base/clock.h"
#include "tune/state.h"

/* Begins to drain pages of the class that are free as a whole, and keeps those that still are. The
 * class keeps one page. */
static unsigned begin(struct tuner *t, unsigned class_id, struct moving_page *taken) {
    struct slab *slab = cache_slab(t->cache);
    uint32_t pages[MOVE_PAGES_MAX];
    uint32_t spare = slab_pages_beyond(slab, class_id, 1);
    unsigned found = slab_partial_pages(slab, class_id, true, pages,
                                        spare < MOVE_PAGES_MAX ? spare : MOVE_PAGES_MAX),
             n = 0;
    for (unsigned i = 0; i < found; i++) {
        if (!page_move_begin(&taken[n], t->ct, pages[i], class_id, SLAB_CLASS_NONE, 1)) {
            continue;
        }
        if (taken[n].state == PAGE_MOVE_EMPTIED) { /* nothing is stored there from now on */
            n++;
        } else {
            page_move_put_back(&taken[n], t->ct);
        }
    }
    return n;
}

enum given { GIVEN_ALL, GIVEN_SOME, GIVEN_NONE_YET };

/* Gives a few pages of a class to the pool. GIVEN_NONE_YET: a turn from before lasts, in which a
 * thread may still look at them. */
static enum given give_some(struct tuner *t, unsigned class_id) {
    struct page_move move = {.from = class_id, .to = SLAB_CLASS_NONE};
    struct moving_page pages[MOVE_PAGES_MAX];
    uint64_t begun_us = tuner_now_us(t), until_us = clock_mono_us() + PAGE_PATIENCE_US;
    unsigned found = begin(t, class_id, pages);
    for (unsigned i = 0; i < found; i++) {
        move.pages += page_move_finish(&pages[i], t->ct, until_us);
    }
    if (move.pages > 0) {
        struct move_result result = {.pages = move.pages,
                                     .duration_us = tuner_now_us(t) - begun_us};
        move_log_count(&t->moves, &result);
        snprintf(move.reason, sizeof move.reason,
                 "%u pages are free since values that never came whole were given up", move.pages);
        move_log_add(&t->moves, "drafts", &move, &result);
    }
    if (move.pages < found) {
        return GIVEN_NONE_YET;
    }
    return found == MOVE_PAGES_MAX ? GIVEN_SOME : GIVEN_ALL;
}

bool tuner_give_whole(struct tuner *t) {
    struct class_set left = cache_take_left_whole(t->cache), later = {{0}};
    for (unsigned i = 1; t->reassign && i <= cache_slab(t->cache)->class_count; i++) {
        enum given given =
            class_set_has(&left, i) || class_set_has(&t->whole_later, i) ? GIVEN_SOME : GIVEN_ALL;
        while (given == GIVEN_SOME) {
            given = give_some(t, i);
        }
        if (given == GIVEN_NONE_YET) {
            class_set_add(&later, i);
        }
    }
    t->whole_later = later;
    return !class_set_empty(&later);
}
