/* Gives to the pool the pages that values left free which never came whole: the class may have got
 * them for those values alone, and another class may be evicting meanwhile. It moves and drops
 * nothing for that: a page into which something was stored since stays. */
#include <stdio.h>

#include "control/state.h"

bool tuner_next_whole(struct tuner *t, struct carried *c, uint64_t now_us, uint64_t *due_us) {
    struct class_set left = cache_take_left_free(t->cache);
    (void)now_us;
    (void)due_us;
    if (!t->reassign) {
        return false;
    }
    class_set_join(&t->left_free, &left);
    for (unsigned i = 1; i <= cache_slab(t->cache)->class_count; i++) {
        if (class_set_has(&t->left_free, i)) {
            c->move = (struct page_move){.from = i,
                                         .to = SLAB_CLASS_NONE,
                                         .pages = MOVE_PAGES_MAX,
                                         .pick = PICK_FREE};
            snprintf(c->by, sizeof c->by, "drafts");
            snprintf(c->move.reason, sizeof c->move.reason,
                     "pages are free since values that never came whole were given up");
            return true;
        }
    }
    return false;
}

/* There may be more; or pages went back, because too many others wait to change hands. */
void tuner_whole_ended(struct tuner *t, const struct carried *c, unsigned moved, uint64_t now_us) {
    (void)now_us;
    if (moved < MOVE_PAGES_MAX && t->mover.result.given_up == 0) {
        class_set_remove(&t->left_free, c->move.from);
    }
}
