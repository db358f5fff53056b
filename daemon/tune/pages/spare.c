/* Chooses the class that gives pages when any class will do, and how many it gives before the next
 * look. First come classes whose free chunks fill whole pages, because then all that lives in a
 * page finds room. Then comes the class whose pages are worth least. */
#include "tune/pages/spare.h"

#include "tune/pages/mover.h"
#include "tune/pages/empty.h"

struct comparing {
    struct cache           *cache;
    struct cache_thread    *ct;
    struct pace            *pace;
    const struct class_set *except;
    bool                    last_too;
    /* classes with free chunks whose pages are all in use now */
    struct class_set        held;
    /* the choice by value looks at one class in each step */
    unsigned at, cheapest;
    uint32_t most_pages;
    /* the pages of the cheapest class that were looked at, the cheapest first */
    unsigned count;
    uint64_t value[MOVE_PAGES_MAX];
    uint64_t next_least;              /* the least value of a page of any other class */
};

/* How many pages a class may lose. */
static uint32_t most_of(const struct comparing *c, unsigned class_id) {
    return class_set_has(c->except, class_id)
               ? 0
               : slab_pages_beyond(cache_slab(c->cache), class_id, c->last_too ? 0 : 1);
}

static unsigned givers(const struct comparing *c) {
    unsigned n = 0;
    for (unsigned i = 1; i <= cache_slab(c->cache)->class_count; i++) {
        n += most_of(c, i) > 0;
    }
    return n;
}

/* --- with room for what lives there --- */

/* The class whose free chunks fill the most pages. */
static unsigned roomiest(const struct comparing *c, uint32_t *pages) {
    unsigned best = SLAB_CLASS_NONE;
    *pages = 0;
    for (unsigned i = 1; i <= cache_slab(c->cache)->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(cache_slab(c->cache), i, &f);
        uint32_t most = most_of(c, i), room = most > 0 ? f.free_chunks / f.chunks_per_page : 0;
        room = room < most ? room : most;
        if (room > *pages && !class_set_has(&c->held, i)) {
            best = i;
            *pages = room;
        }
    }
    return best;
}

static unsigned pages_to_be_had(const struct comparing *c, unsigned class_id) {
    uint32_t pages[CACHE_SPARE_MAX];
    unsigned n = 0;
    for (unsigned i = pick_pages(c->pace, c->ct, class_id, PICK_LEAST_VALUE, pages); i > 0; i--) {
        n += !page_is_held(c->cache, pages[i - 1]);
    }
    return n;
}

static bool find_room(struct comparing *c, struct page_move *move) {
    uint32_t room;
    unsigned class_id;
    while ((class_id = roomiest(c, &room)) != SLAB_CLASS_NONE) {
        unsigned had = pages_to_be_had(c, class_id);
        if (had > 0) {
            unsigned pages = had < room ? had : room;
            move->from = class_id;
            move->pages = pages < move->pages ? pages : move->pages;
            return true;
        }
        class_set_add(&c->held, class_id);
    }
    return false;
}

/* --- by value --- */

/* Compares a class with the cheapest so far. A class whose pages are all on the move has none to
 * compare. */
static void compare(struct comparing *c, unsigned class_id, uint32_t class_pages) {
    uint32_t page[MOVE_PAGES_MAX];
    unsigned n = cache_spare_pages(c->ct, class_id, PICK_LEAST_VALUE, page, MOVE_PAGES_MAX);
    uint64_t least = n > 0 ? cache_page_value(c->ct, page[0]) : UINT64_MAX;
    if (c->cheapest != SLAB_CLASS_NONE &&
        (least > c->value[0] || (least == c->value[0] && class_pages <= c->most_pages))) {
        c->next_least = least < c->next_least ? least : c->next_least;
        return;
    }
    if (c->cheapest != SLAB_CLASS_NONE) {
        c->next_least = c->value[0];
    }
    c->cheapest = class_id;
    c->most_pages = class_pages;
    c->count = n;
    c->value[0] = least;
    for (unsigned i = 1; i < n; i++) {
        c->value[i] = cache_page_value(c->ct, page[i]);
    }
}

static bool compare_next(void *arg) {
    struct comparing *c = arg;
    struct slab_class_facts f;
    unsigned class_id = c->at++;
    if (most_of(c, class_id) > 0) {
        slab_facts(cache_slab(c->cache), class_id, &f);
        compare(c, class_id, f.pages);
    }
    return c->at <= cache_slab(c->cache)->class_count;
}

/* Takes as many of the cheapest class's pages as are worth no more than any other class's page; at
 * least one. */
static void find_cheapest(struct comparing *c, struct page_move *move) {
    struct pace_job job = {.ct = c->ct, .step = compare_next, .arg = c};
    pace_run(c->pace, &job);
    unsigned pages = 1;
    while (pages < c->count && c->value[pages] <= c->next_least) {
        pages++;
    }
    move->from = c->cheapest;
    move->pages = pages < move->pages ? pages : move->pages;
}

/* A class that alone can give pages gives all that are wanted. Pages of blocks drain together then,
 * much faster than one after the other. */
bool spare_choose(struct cache *cache, struct cache_thread *ct, struct pace *pace,
                  const struct class_set *except, struct page_move *move) {
    struct comparing c = {.cache = cache,
                          .ct = ct,
                          .pace = pace,
                          .except = except,
                          .last_too = move->last_too,
                          .at = 1,
                          .cheapest = SLAB_CLASS_NONE,
                          .next_least = UINT64_MAX};
    unsigned wanted = move->pages, count = givers(&c);
    move->from = SLAB_CLASS_NONE;
    if (count > 0 && !find_room(&c, move)) {
        find_cheapest(&c, move);
    }
    move->pages = count == 1 ? wanted : move->pages;
    return move->from != SLAB_CLASS_NONE;
}
