/* A geometry change's insides, for the files of this folder only. */
#ifndef SLATE_TUNE_GEOMETRY_CHANGE_H
#define SLATE_TUNE_GEOMETRY_CHANGE_H
#include "base/clock.h"
#include "tune/geometry/geometry.h"

struct geometry_change {
    struct cache        *cache;
    struct cache_thread *ct;
    bool                 may_move;
    bool                 began; /* whether the first look at what there is was taken */
    _Atomic double       rate_pct;
    _Atomic bool         follow;    /* slab_geometry_auto */
    _Atomic bool         look_soon; /* it was switched */

    struct lock            lock; /* over the order and the facts */
    struct geometry_order *order;
    struct geometry_facts  facts;
    /* it runs since then, beyond facts.seconds; 0: it does not run */
    uint64_t               since_us;

    /* The tuner thread's own. */
    struct refit           refit;
    struct geometry_plan   plan;
    struct size_list       was;   /* what `revert` goes back to; no sizes: nothing yet */
    /* what the last look found worth a change; no sizes: nothing */
    struct size_list       wished;
    struct size_histogram  sizes;
    enum geometry_state    state;
    /* turns from before the last change of the table may be under way */
    bool                   unquiet;
    struct class_set       fresh;    /* classes that this step brought */
    /* classes that stay, in which items are that a new one serves better */
    struct class_set       mixed;
    uint64_t               fresh_evicted;
    uint32_t               pool_before; /* pages in the pool when it began */
    uint32_t               page;     /* the pass goes on here */
    unsigned               passes;   /* over the pages in this step */
    /* pages that the pass could not empty: something in them is being stored or sent */
    unsigned               in_use;
    bool                   no_room;  /* or there was no room for what lives in one */
    bool                   tried_in_use; /* the pass has tried one that was in use */
    uint32_t               try_in_use;   /* the next that is comes no earlier than this */
    bool                   hasty;
    uint64_t               due_us, look_us, measured_us;
    /* when it is looked next whether other sizes would fit better */
    uint64_t               fit_look_us;
    double                 rate_seen_pct; /* by which due_us was reckoned */
    /* the next look comes as soon as so many pages are in use, too */
    uint32_t               fit_look_pages;
    uint64_t               hand_us; /* the time, where the caller has a clock of its own; else 0 */
};

static inline uint64_t geometry_now_us(const struct geometry_change *g) {
    return g->hand_us != 0 ? g->hand_us : clock_mono_us();
}

struct geometry_outlook { /* what a change would bring */
    uint32_t pages;
    double items_before, items_after; /* in so many pages */
    double waste_before_pct, waste_after_pct; /* of the memory that the items of now take */
};

/* --- fit.c: which sizes would fit --- */
/* What is wasted of the memory that items take. */
double geometry_waste_pct(const struct size_histogram *, double taken_bytes);
/* The sizes for the items that were measured last; classes_most as of an order; wary as of struct
 * fit_limits. False: out of memory. */
bool geometry_fit(struct geometry_change *, unsigned classes_most, bool wary,
                  struct size_list *to);
/* Whether there are class ids for both lists at once. */
bool geometry_has_ids(const struct geometry_change *, const struct size_list *from,
                      const struct size_list *to);
void geometry_look_ahead(const struct geometry_change *, const struct size_list *from,
                         const struct size_list *to, struct geometry_outlook *);
double geometry_gain_pct(const struct geometry_outlook *); /* more items */
/* Measures the items, notes what sizes fitted to them would gain, and with slab_geometry_auto
 * begins a change to these, if that is what an order would need to gain, and a page's worth of
 * items, and items fill half of the pages in use, and the look before found sizes that are nearly
 * as good. For when no change is under way. */
void geometry_look(struct geometry_change *);

/* --- facts.c: what it tells --- */
/* The change rests, runs or is over: `seconds` counts while it runs. */
void geometry_enter(struct geometry_change *, enum geometry_state);
/* Brings the facts up to date with what the tuner's thread knows. */
void geometry_tell(struct geometry_change *);
/* why */
__attribute__((format(printf, 2, 3))) void geometry_say(struct geometry_change *,
                                                        const char *format, ...);

/* --- order.c: what is asked for --- */
/* Answers an order, beginning or ending what it asks for. */
void geometry_serve(struct geometry_change *);
/* Answers what still waits: there will be no more. */
void geometry_refuse_all(struct geometry_change *);

/* --- pages.c: a page at hand for the change, and the classes that get those it freed --- */
/* Sees to it that a class which runs out of chunks for what comes can have a page: at best one of
 * the pool, else the one that is worth least anywhere, unless clients hold it. */
void geometry_keep_a_page(struct geometry_change *);
/* Pages that the change has freed go to classes that want them, as far as any does; the others are
 * the pool's. */
void geometry_hand_out(struct geometry_change *);

/* --- begin.c --- */
/* Looks at the sizes of all items, at the mover's pace. */
void geometry_measure(struct geometry_change *);
void geometry_begin(struct geometry_change *, const struct size_list *from,
                    const struct size_list *to, const struct geometry_outlook *);
void geometry_begin_pass(struct geometry_change *); /* over the pages */
#endif
