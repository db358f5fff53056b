/* The inside of a change of the chunk sizes, for the files of this folder only. */
#ifndef SLATE_CONTROL_GEOMETRY_GEOMETRY_CHANGE_H
#define SLATE_CONTROL_GEOMETRY_GEOMETRY_CHANGE_H
#include "base/clock.h"
#include "control/pages/choose_class.h"
#include "control/geometry/geometry.h"

struct geometry_change {
    struct cache        *cache;
    struct cache_thread *ct;
    bool                 may_move;
    bool                 began; /* the first step has looked for a change to take up again */
    const struct geometry_settings *settings;
    bool                 followed; /* settings->follow, at the last look for better sizes */

    struct lock            lock; /* guards the facts and since_us */
    struct geometry_facts  facts;
    /* since_us: when the time after facts.seconds began; 0: no change runs. facts_us: the time of
     * the last update of the facts */
    uint64_t               since_us, facts_us;

    /* What follows belongs to the owner's thread. */
    void (*on_own)(void *, const char *, const char *); /* geometry_on_own_change; may be NULL */
    void  *on_own_arg;
    struct geometry_order *order;    /* NULL: none waits for its answer */
    uint64_t               now_us;   /* of the step */
    /* A job, or the refit's page, may be under way. `then` is the next step once both are done;
     * after_hold is the step once a page is at hand. */
    struct pace           *pace;
    struct pace_job        job;
    struct class_choice           class_choice;
    struct picked          picked;
    struct refit_page           refit;
    void                 (*then)(struct geometry_change *);
    void                 (*after_hold)(struct geometry_change *);
    struct cache_sizing    sizing;
    struct fit_search     *search;
    struct size_list       fitted;   /* the sizes that the last search found */
    struct page_move       holding;  /* the class that gives the page at hand */
    uint64_t               page_due_us; /* when the page after the one under way is due */
    struct geometry_plan   plan;
    /* the sizes that `revert` goes back to; none: there was no change yet */
    struct size_list       was;
    /* the sizes that the last look found worth a change; none: no sizes were */
    struct size_list       wished;
    struct fit_histogram  sizes;
    enum geometry_state    state;
    /* the turns that ran when the table changed last, and the time; unquiet: some may still run */
    uint64_t               turns[THREADS_MAX], turns_us;
    bool                   unquiet;
    struct class_set       named;    /* geometry_hold_ids */
    struct class_set       fresh;    /* the classes that this step made */
    struct class_set       wanting;  /* fresh classes with items to come and without a page */
    /* classes that stay, and hold items that fit a new class better */
    struct class_set       mixed;
    uint64_t               fresh_evicted;
    uint32_t               pool_before; /* pages in the pool when the change began */
    uint64_t               handed_out;  /* pages, at its end */
    struct size_list       step_sizes;  /* the table of the step under way */
    uint32_t               page;     /* the page where the pass goes on */
    uint32_t               page_end; /* of the pass */
    bool                   found;    /* the page before `page` is to be emptied */
    unsigned               passes;   /* passes over the pages in this step */
    /* pages that this pass could not empty: something in them is being stored or sent */
    unsigned               in_use;
    bool                   no_room;  /* this pass met a page whose contents found no room */
    bool                   tried_in_use; /* this pass has tried a page that was in use */
    /* the next page in use that is tried has this number or a higher one */
    uint32_t               try_in_use;
    bool                   hasty;
    uint64_t               due_us, evictions_due_us, measured_us;
    /* when the next look for better sizes is due */
    uint64_t               fit_due_us;
    double                 rate_seen_pct; /* the rate that due_us follows from */
    /* with so many pages in use the look is due, too */
    uint32_t               fit_due_pages;
};

struct geometry_prediction { /* the effect that a change would have */
    uint32_t pages;
    double items_before, items_after; /* items in so many pages */
    double waste_before_pct, waste_after_pct; /* waste, of the memory that today's items take */
};

/* --- geometry_fit.c: which sizes would fit --- */
/* The share of the items' memory that is wasted. */
double geometry_waste_pct(const struct fit_histogram *, double taken_bytes);
/* Begins to find sizes that fit the last measured items; `then` is called when `fitted` is known.
 * classes_most is as in an order, cautious as in struct fit_limits. False: out of memory. */
bool geometry_fit(struct geometry_change *, unsigned classes_most, bool cautious,
                  void (*then)(struct geometry_change *));
/* Whether there are enough class ids for the classes of both lists at once. */
bool geometry_has_ids(const struct geometry_change *, const struct size_list *from,
                      const struct size_list *to);
void geometry_predict(const struct geometry_change *, const struct size_list *from,
                      const struct size_list *to, struct geometry_prediction *);
/* How many more items the change makes room for. */
double geometry_gain_pct(const struct geometry_prediction *);
/* Begins a look: measures the items, and notes the gain of sizes that fit them. With
 * slab_geometry_auto a change to those sizes begins if three things hold: they gain as much as an
 * order has to gain, and a page's worth of items; items fill half of the pages in use; and the look
 * before found sizes that are nearly as good. To be called while no change is under way. */
void geometry_fit_check(struct geometry_change *);

/* --- geometry_facts.c --- */
/* Enters a state. `seconds` counts while the change runs. */
void geometry_enter(struct geometry_change *, enum geometry_state);
/* Updates the facts from the members of the owner's thread. */
void geometry_update_facts(struct geometry_change *);
/* Writes to the facts what the change does or waits for. */
__attribute__((format(printf, 2, 3))) void geometry_set_why(struct geometry_change *,
                                                            const char *format, ...);

/* --- geometry_order.c --- */
/* Answers the order that waits, or begins its work. False: no order waits. */
bool geometry_order_serve(struct geometry_change *);
/* Answers an order that still waits: the server is stopping. */
void geometry_order_refuse(struct geometry_change *);

/* --- geometry_pages.c: a page at hand for the change, and the classes that get freed pages --- */
/* Gets a page at hand for a class that runs out of chunks: a page of the pool or, if the pool is
 * empty, the page of least value of any class, unless clients hold it. Then `then` is called. */
void geometry_hold_page(struct geometry_change *, void (*then)(struct geometry_change *));
/* Gives a page that the change has freed to the class that needs a page most. False: no class needs
 * one, or no page is left; the others are in the pool then. */
bool geometry_hand_out_page(struct geometry_change *);

/* --- geometry_begin.c --- */
/* Begins a job of the pace; `then` is called when the job is done. */
void geometry_run(struct geometry_change *, bool (*step)(void *, uint64_t now_us),
                  void (*then)(struct geometry_change *));
/* Begins to measure the sizes of all items. */
void geometry_measure(struct geometry_change *, void (*then)(struct geometry_change *));
void geometry_begin(struct geometry_change *, const struct size_list *from,
                    const struct size_list *to, const struct geometry_prediction *);
/* The same for a change that nobody ordered; `why` follows the number of the new sizes. */
void geometry_begin_own(struct geometry_change *, const struct size_list *to,
                        const struct geometry_prediction *, const char *why);
void geometry_begin_pass(struct geometry_change *); /* begins a pass over the pages */
#endif
