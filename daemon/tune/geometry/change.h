/* The inside of a change of the chunk sizes, for the files of this folder only. */
#ifndef SLATE_TUNE_GEOMETRY_CHANGE_H
#define SLATE_TUNE_GEOMETRY_CHANGE_H
#include "base/clock.h"
#include "tune/geometry/geometry.h"

struct geometry_change {
    struct cache        *cache;
    struct cache_thread *ct;
    bool                 may_move;
    bool                 began; /* the first call of geometry_tend is over */
    _Atomic double       rate_pct;
    _Atomic bool         follow;    /* slab_geometry_auto */
    _Atomic bool         look_soon; /* slab_geometry_auto was switched: look at once */

    struct lock            lock; /* guards the order, the facts and since_us */
    struct geometry_order *order;
    struct geometry_facts  facts;
    /* since when it runs, beyond facts.seconds; 0: it does not run */
    uint64_t               since_us;

    /* What follows belongs to the tuner's thread. */
    struct refit           refit;
    struct geometry_plan   plan;
    /* the sizes that `revert` goes back to; none: there was no change yet */
    struct size_list       was;
    /* the sizes that the last look found worth a change; none: it found nothing */
    struct size_list       wished;
    struct size_histogram  sizes;
    enum geometry_state    state;
    /* turns that began before the last change of the table may still be under way */
    bool                   unquiet;
    struct class_set       fresh;    /* the classes that this step made */
    /* classes that stay, and hold items that a new class serves better */
    struct class_set       mixed;
    uint64_t               fresh_evicted;
    uint32_t               pool_before; /* pages in the pool when the change began */
    uint32_t               page;     /* the page where the pass goes on */
    unsigned               passes;   /* passes over the pages in this step */
    /* pages that this pass could not empty, because something in them is being stored or sent */
    unsigned               in_use;
    bool                   no_room;  /* this pass met a page whose contents found no room */
    bool                   tried_in_use; /* this pass has tried a page that was in use */
    /* the next such page that is tried has at least this number */
    uint32_t               try_in_use;
    bool                   hasty;
    uint64_t               due_us, look_us, measured_us;
    /* when to look next whether other sizes would fit better */
    uint64_t               fit_look_us;
    double                 rate_seen_pct; /* the rate by which due_us was reckoned */
    /* so many pages in use make that look due, too */
    uint32_t               fit_look_pages;
    uint64_t               hand_us; /* the time, where the caller has a clock of its own; else 0 */
};

static inline uint64_t geometry_now_us(const struct geometry_change *g) {
    return g->hand_us != 0 ? g->hand_us : clock_mono_us();
}

struct geometry_outlook { /* what a change would bring */
    uint32_t pages;
    double items_before, items_after; /* items in so many pages */
    double waste_before_pct, waste_after_pct; /* waste, of the memory that today's items take */
};

/* --- fit.c: which sizes would fit --- */
/* The share of the items' memory that is wasted. */
double geometry_waste_pct(const struct size_histogram *, double taken_bytes);
/* Finds sizes that fit the items that were measured last. classes_most is as in an order, wary as
 * in struct fit_limits. False: out of memory. */
bool geometry_fit(struct geometry_change *, unsigned classes_most, bool wary,
                  struct size_list *to);
/* Whether there are enough class ids for the classes of both lists at once. */
bool geometry_has_ids(const struct geometry_change *, const struct size_list *from,
                      const struct size_list *to);
void geometry_look_ahead(const struct geometry_change *, const struct size_list *from,
                         const struct size_list *to, struct geometry_outlook *);
/* how many more items the change makes room for */
double geometry_gain_pct(const struct geometry_outlook *);
/* Measures the items, and notes what sizes that fit them would gain. With slab_geometry_auto it
 * begins a change to those sizes if three things hold: they gain what an order has to gain, and a
 * page's worth of items; items fill half of the pages in use; and the look before found sizes that
 * are nearly as good. To be called while no change is under way. */
void geometry_look(struct geometry_change *);

/* --- facts.c: what it tells --- */
/* Enters a state. `seconds` counts while the change runs. */
void geometry_enter(struct geometry_change *, enum geometry_state);
/* Brings the facts up to date with what the tuner's thread knows. */
void geometry_tell(struct geometry_change *);
/* Says in the facts what the change does or waits for. */
__attribute__((format(printf, 2, 3))) void geometry_say(struct geometry_change *,
                                                        const char *format, ...);

/* --- order.c: what is asked for --- */
/* Answers an order: begins or ends what the order asks for. */
void geometry_serve(struct geometry_change *);
/* Answers the order that still waits: no more will be served. */
void geometry_refuse_all(struct geometry_change *);

/* --- pages.c: a page at hand for the change, and the classes that get those it freed --- */
/* Keeps a page at hand for a class that runs out of chunks: a page of the pool or, if there is
 * none, the page of least value of any class, unless clients hold it. */
void geometry_keep_a_page(struct geometry_change *);
/* Gives the pages that the change has freed to classes that want them; the others stay in the
 * pool. */
void geometry_hand_out(struct geometry_change *);

/* --- begin.c --- */
/* Looks at the sizes of all items, at the mover's pace. */
void geometry_measure(struct geometry_change *);
void geometry_begin(struct geometry_change *, const struct size_list *from,
                    const struct size_list *to, const struct geometry_outlook *);
void geometry_begin_pass(struct geometry_change *); /* begins a pass over the pages */
#endif
