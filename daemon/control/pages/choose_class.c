/* Chooses the class that gives pages when any class may, and how many before the next choice. First
 * come classes whose free chunks fill whole pages, because all items of a page have room in these
 * chunks. Then comes the class whose pages are worth least, unless nothing may be evicted. */
#include "control/pages/choose_class.h"

#include "control/pages/drain.h"

/* How many pages a class may lose. */
static uint32_t class_pages_most(const struct class_choice *c, unsigned class_id) {
    return class_set_has(&c->except, class_id)
               ? 0
               : slab_pages_beyond(c->slab, class_id, c->move->last_too ? 0 : 1);
}

static unsigned class_donor_count(const struct class_choice *c) {
    unsigned n = 0;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        n += class_pages_most(c, i) > 0;
    }
    return n;
}

/* --- by free chunks --- */

/* The class whose free chunks fill the most pages. */
static unsigned class_roomiest(const struct class_choice *c, uint32_t *pages) {
    unsigned best = SLAB_CLASS_NONE;
    *pages = 0;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(c->slab, i, &f);
        uint32_t most = class_pages_most(c, i),
                 room = most > 0 ? f.free_chunks / f.chunks_per_page : 0;
        room = room < most ? room : most;
        if (room > *pages && !class_set_has(&c->held, i)) {
            best = i;
            *pages = room;
        }
    }
    return best;
}

static unsigned class_pages_available(struct class_choice *c, unsigned class_id) {
    uint32_t pages[CACHE_CHOOSE_MAX];
    unsigned n = 0;
    for (unsigned i =
             cache_choose_pages(c->job.ct, class_id, PICK_LEAST_VALUE, pages, CACHE_CHOOSE_MAX);
         i > 0; i--) {
        n += !drain_page_is_held(c->cache, pages[i - 1]);
    }
    return n;
}

/* Inspects the class with most free chunks of those not inspected yet. True: there is none. */
static bool class_probe_room(struct class_choice *c) {
    uint32_t room;
    unsigned class_id = class_roomiest(c, &room);
    unsigned had = class_id != SLAB_CLASS_NONE ? class_pages_available(c, class_id) : 0;
    if (had > 0) {
        unsigned pages = had < room ? had : room;
        c->move->from = class_id;
        c->move->pages = pages < c->move->pages ? pages : c->move->pages;
    } else if (class_id != SLAB_CLASS_NONE) {
        class_set_add(&c->held, class_id);
    }
    return class_id == SLAB_CLASS_NONE;
}

/* --- by value --- */

/* Compares a class with the cheapest so far. A class whose pages are all on the move has no page to
 * compare. */
static void class_compare(struct class_choice *c, unsigned class_id, uint32_t class_pages) {
    uint32_t page[MOVE_PAGES_MAX];
    unsigned n = cache_choose_pages(c->job.ct, class_id, PICK_LEAST_VALUE, page, MOVE_PAGES_MAX);
    uint64_t least = n > 0 ? cache_page_value(c->job.ct, page[0]) : UINT64_MAX;
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
        c->value[i] = cache_page_value(c->job.ct, page[i]);
    }
}

/* Takes the pages of the cheapest class that are worth no more than any page of other classes; at
 * least one. */
static void class_take_cheapest(struct class_choice *c) {
    unsigned pages = 1;
    while (pages < c->count && c->value[pages] <= c->next_least) {
        pages++;
    }
    c->move->from = c->cheapest;
    c->move->pages = pages < c->move->pages ? pages : c->move->pages;
}

/* Compares the next class. False: all are compared. */
static bool class_compare_next(struct class_choice *c) {
    struct slab_class_facts f;
    unsigned class_id = c->at++;
    if (class_pages_most(c, class_id) > 0) {
        slab_facts(c->slab, class_id, &f);
        class_compare(c, class_id, f.pages);
    }
    if (c->at > c->slab->class_count) {
        class_take_cheapest(c);
    }
    return c->at <= c->slab->class_count;
}

static bool choose_class_step(void *arg, uint64_t now_us) {
    struct class_choice *c = arg;
    (void)now_us;
    if (!c->no_room) {
        c->no_room = class_probe_room(c);
        return c->move->from == SLAB_CLASS_NONE && (!c->no_room || cache_evicts(c->cache));
    }
    return class_compare_next(c);
}

/* If only one class can give pages, it gives all wanted pages: pages of the block store then drain
 * together, much faster than one after the other. */
bool class_choice_begin(struct class_choice *c, struct pace *pace, struct cache *cache,
                        struct cache_thread *ct, const struct class_set *except,
                        struct page_move *move, uint64_t now_us) {
    *c = (struct class_choice){.job = {.ct = ct, .step = choose_class_step, .arg = c},
                        .cache = cache,
                        .slab = cache_slab(cache),
                        .move = move,
                        .except = *except,
                        .wanted = move->pages,
                        .at = 1,
                        .cheapest = SLAB_CLASS_NONE,
                        .next_least = UINT64_MAX};
    move->from = SLAB_CLASS_NONE;
    c->donors = class_donor_count(c);
    if (c->donors > 0) {
        pace_begin(pace, &c->job, now_us);
    }
    return c->donors > 0;
}

bool class_choice_found(struct class_choice *c) {
    c->move->pages = c->donors == 1 && cache_evicts(c->cache) ? c->wanted : c->move->pages;
    return c->move->from != SLAB_CLASS_NONE;
}
