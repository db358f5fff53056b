/* Pages that values left free which never came whole go to the pool: their class may have got them for nothing else, and another may
 * be evicting meanwhile. */
#include <stdio.h>

#include "tune/tuner.h"

static void give_class(struct tuner *t, unsigned class_id) {
    unsigned pages;
    while ((pages = slab_whole_pages(cache_slab(t->cache), class_id, MOVER_PAGES_MAX)) > 0) {
        struct page_move move = {.from = class_id, .to = SLAB_CLASS_NONE, .pages = pages};
        snprintf(move.reason, sizeof move.reason, "%u pages are free since values that never came whole were given up", pages);
        if (tuner_move(t, "drafts", &move) == 0) {
            return;
        }
    }
}

void tuner_give_whole(struct tuner *t) {
    struct class_set left = cache_take_left_whole(t->cache);
    for (unsigned i = 1; t->reassign && i <= cache_slab(t->cache)->class_count; i++) {
        if (class_set_has(&left, i)) {
            give_class(t, i);
        }
    }
}
