/* Changes the chunk sizes of a live cache: predicts the gain, converts one class at a time, and
 * empties the pages of the old classes.
 *
 *     order -> prediction from the sizes of all live items
 *     -> for each range of sizes, those that save most first: the table changes, new classes get a
 *        page, pages of the retired class are emptied one by one -> its id is free
 *
 * Without an order, a look at all items finds out whether sizes fitted to them would hold more, and
 * the facts show the gain. With slab_geometry_auto the change begins by itself once the items'
 * sizes are steady: the sizes that the previous look found still bring GEOMETRY_STEADY_PCT of the
 * possible gain. Looks come each minute; ten seconds after a look that found better sizes; when 4
 * pages are in use, or a sixteenth of a smaller memory; and whenever that number has doubled, until
 * the memory is full. For the earlier the sizes fit, the fewer pages have to be emptied, and while
 * the pool has pages, a change evicts nothing. So a cache with items of steady sizes changes at 8
 * pages, or an eighth of its memory.
 *
 * Pages are emptied at a pace: a share of all pages a second. The pace is GEOMETRY_HASTE times as
 * fast while a new class evicts though old pages are left, as these evictions cost hits; and while
 * the pool has pages, as emptying pages then costs no hits.
 *
 * The work is done in slices: looks at items, searches and pages are jobs of the pace. An order
 * that comes meanwhile puts the page back that is being emptied. Threading: the owner's thread;
 * geometry_facts: any thread. */
#ifndef SLATE_CONTROL_GEOMETRY_GEOMETRY_H
#define SLATE_CONTROL_GEOMETRY_GEOMETRY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "control/pages/refit_page.h"
#include "control/geometry/geometry_plan.h"

enum {
    /* a change is refused unless all pages would then hold at least this many more items */
    GEOMETRY_GAIN_LEAST_PCT = 2,
    /* the sizes that the previous look found must still bring this share of the gain */
    GEOMETRY_STEADY_PCT = 75,
    GEOMETRY_RATE_PCT = 2, /* of all pages a second, unless the setting has a rate */
    GEOMETRY_HASTE = 8,
    GEOMETRY_ANSWER_BYTES = 384 + 8 * CLASS_SIZES_MAX, /* a prediction with all sizes */
    GEOMETRY_WHY_BYTES = 128,
};
#define GEOMETRY_NEVER PACE_NEVER
/* Between two looks whether other sizes would fit better. */
#define GEOMETRY_LOOK_US ((uint64_t)60 * 1000 * 1000)
/* From such a look to the next one, which finds out whether the sizes are steady. */
#define GEOMETRY_CONFIRM_US ((uint64_t)10 * 1000 * 1000)

enum geometry_verb {
    GEOMETRY_FACTOR,
    GEOMETRY_SIZES,
    GEOMETRY_AUTO,
    GEOMETRY_PAUSE,
    GEOMETRY_RESUME,
    GEOMETRY_REVERT
};

struct geometry_order {
    enum geometry_verb verb;
    double   factor;
    uint32_t first_bytes;            /* GEOMETRY_FACTOR: the smallest chunk */
    uint32_t sizes[CLASS_SIZES_MAX];
    unsigned size_count;
    /* GEOMETRY_AUTO; 0: as many as at the start, FIT_CLASSES_MOST of them with items */
    unsigned classes_most;
    bool     force;                  /* the change begins even if it gains little */
    bool     dry;                    /* the answer is the prediction; nothing changes */
    void   (*done)(struct geometry_order *); /* called with the answer */
    char     answer[GEOMETRY_ANSWER_BYTES]; /* a line */
};

/* STARTING, in the facts only: a memory file may be from amid a change; the first step looks. */
enum geometry_state { GEOMETRY_STEADY, GEOMETRY_DRAINING, GEOMETRY_PAUSED, GEOMETRY_STARTING };

struct geometry_settings {
    double rate_pct; /* slab_geometry_rate, of all pages a second; 0: GEOMETRY_RATE_PCT */
    bool   follow; /* slab_geometry_auto: sizes are fitted anew as the items' sizes change */
};

struct geometry_facts {
    enum geometry_state state;
    uint64_t generation;    /* changes begun since the start */
    struct size_list from, to, now;
    unsigned ranges, ranges_done;
    /* of this change */
    uint64_t pages_drained, pages_in_use;
    struct page_counts did;
    unsigned pages_held;    /* pages that belong to no class, ready for a class that runs out */
    /* items in all pages: by the old sizes, and by the sizes that are wanted */
    uint64_t items_before, items_predicted;
    /* waste, of the memory that items take */
    double   waste_before_pct, waste_predicted_pct, waste_now_pct;
    /* how many more items the sizes fitted at the last look would hold */
    double   auto_gain_pct;
    double   seconds;       /* how long this change has run, without pauses */
    char     why[GEOMETRY_WHY_BYTES]; /* what the change does or waits for */
};

struct geometry_change; /* geometry.c */
struct pace;
/* Makes a change that does nothing yet. The caller owns the pace and the settings. Each step reads
 * the settings; when `follow` has changed, the step looks for better sizes at once. NULL: no
 * memory. */
struct geometry_change *geometry_create(struct cache *, struct cache_thread *, struct pace *,
                                        bool may_move, const struct geometry_settings *,
                                        uint64_t now_us);
/* Called on the owner's thread, no lock held, when a change begins that nobody ordered: the sizes
 * before it, and the new ones and why, in words. */
void geometry_on_own_change(struct geometry_change *,
                            void (*run)(void *arg, const char *was, const char *is), void *arg);
void geometry_destroy(struct geometry_change **); /* answers an order that waits */

/* Hands the order over, until `done` is called. False: another order waits for its answer. */
bool geometry_order_take(struct geometry_change *, struct geometry_order *);
void geometry_facts(struct geometry_change *, struct geometry_facts *);
/* To be called before a step, with the classes that the owner's jobs name: their ids stay taken. */
void geometry_hold_ids(struct geometry_change *, const struct class_set *named);

/* Does the work that is due, and waits for nothing. Returns when to call it again, as of
 * control/pages/pace.h; GEOMETRY_NEVER: at the next order. */
uint64_t geometry_step(struct geometry_change *, uint64_t now_us);
#endif
