/* Chooses the class that gives pages when any class will do, and how many it gives before the next
 * look. First come classes whose free chunks fill whole pages, because then all that lives in a
 * page finds room. Then comes the class whose pages are worth least. */
#include "control/pages/choose_class.h"

#include "control/pages/drain.h"

/* How many pages a class may lose. */
static uint32_t most_of(const struct spare *c, unsigned class_id) {
    return class_set_has(&c->except, class_id)
               ? 0
               : slab_pages_beyond(c->slab, class_id, c->move->last_too ? 0 : 1);
}

static unsigned givers(const struct spare *c) {
    unsigned n = 0;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        n += most_of(c, i) > 0;
    }
    return n;
}

/* --- with room for what lives there --- */

/* The class whose free chunks fill the most pages. */
static unsigned roomiest(const struct spare *c, uint32_t *pages) {
    unsigned best = SLAB_CLASS_NONE;
    *pages = 0;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(c->slab, i, &f);
        uint32_t most = most_of(c, i), room = most > 0 ? f.free_chunks / f.chunks_per_page : 0;
        room = room < most ? room : most;
        if (room > *pages && !class_set_has(&c->held, i)) {
            best = i;
            *pages = room;
        }
    }
    return best;
}

static unsigned pages_to_be_had(struct spare *c, unsigned class_id) {
    uint32_t pages[CACHE_CHOOSE_MAX];
    unsigned n = 0;
    for (unsigned i =
             cache_choose_pages(c->job.ct, class_id, PICK_LEAST_VALUE, pages, CACHE_CHOOSE_MAX);
         i > 0; i--) {
        n += !page_is_held(c->cache, pages[i - 1]);
    }
    return n;
}

/* Looks at the roomiest class that was not looked at. True: there is none. */
static bool look_for_room(struct spare *c) {
    uint32_t room;
    unsigned class_id = roomiest(c, &room);
    unsigned had = class_id != SLAB_CLASS_NONE ? pages_to_be_had(c, class_id) : 0;
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

/* Compares a class with the cheapest so far. A class whose pages are all on the move has none to
 * compare. */
static void compare(struct spare *c, unsigned class_id, uint32_t class_pages) {
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

/* Takes as many of the cheapest class's pages as are worth no more than any other class's page; at
 * least one. */
static void take_cheapest(struct spare *c) {
    unsigned pages = 1;
    while (pages < c->count && c->value[pages] <= c->next_least) {
        pages++;
    }
    c->move->from = c->cheapest;
    c->move->pages = pages < c->move->pages ? pages : c->move->pages;
}

/* Compares the next class. False: all are compared. */
static bool compare_next(struct spare *c) {
    struct slab_class_facts f;
    unsigned class_id = c->at++;
    if (most_of(c, class_id) > 0) {
        slab_facts(c->slab, class_id, &f);
        compare(c, class_id, f.pages);
    }
    if (c->at > c->slab->class_count) {
        take_cheapest(c);
    }
    return c->at <= c->slab->class_count;
}

static bool choose_some(void *arg, uint64_t now_us) {
    struct spare *c = arg;
    (void)now_us;
    if (!c->no_room) {
        c->no_room = look_for_room(c);
        return c->move->from == SLAB_CLASS_NONE;
    }
    return compare_next(c);
}

/* A class that alone can give pages gives all that are wanted. Pages of blocks drain together then,
 * much faster than one after the other. */
bool spare_begin(struct spare *c, struct pace *pace, struct cache *cache, struct cache_thread *ct,
                 const struct class_set *except, struct page_move *move, uint64_t now_us) {
    *c = (struct spare){.job = {.ct = ct, .step = choose_some, .arg = c},
                        .cache = cache,
                        .slab = cache_slab(cache),
                        .move = move,
                        .except = *except,
                        .wanted = move->pages,
                        .at = 1,
                        .cheapest = SLAB_CLASS_NONE,
                        .next_least = UINT64_MAX};
    move->from = SLAB_CLASS_NONE;
    c->givers = givers(c);
    if (c->givers > 0) {
        pace_begin(pace, &c->job, now_us);
    }
    return c->givers > 0;
}

bool spare_chosen(struct spare *c) {
    c->move->pages = c->givers == 1 ? c->wanted : c->move->pages;
    return c->move->from != SLAB_CLASS_NONE;
}
