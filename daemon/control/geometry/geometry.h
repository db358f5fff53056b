/* Changes the chunk sizes of a live cache: predicts, converts a class at a time, drains what is
 * left of the old classes.
 *
 *     order -> prediction from the sizes of all live items
 *     -> for each range of sizes, those that save most first: the table changes, new classes get a
 *        page, pages of the retired class are emptied one by one -> its id is free
 *
 * Without an order it looks whether sizes fitted to the items of now would hold more; it tells
 * that, and with slab_geometry_auto does it as soon as the items' sizes are steady: what the look
 * before found still brings GEOMETRY_STEADY_PCT of what can be had. It looks each minute, ten
 * seconds after a look that found something, when 4 pages are in use, or a sixteenth of a smaller
 * memory, and whenever that has doubled until the memory is full: the earlier the sizes fit, the
 * fewer pages have to be emptied, and while the pool has pages nothing is evicted for it. So items
 * of steady sizes are fitted to at 8 pages, or an eighth.
 *
 * Pages are emptied at a pace: a share of all pages a second. They are emptied GEOMETRY_HASTE times
 * as fast while a new class evicts though old pages are left, for that would cost hits; and while
 * the pool has pages, for what is emptied before the memory is full costs none.
 *
 * It is a machine of slices: looks at items, searches and pages are jobs of the pace, and an order
 * that comes meanwhile puts the page back that is being emptied. Threading: the owner's thread, but
 * for geometry_facts, which is for anyone. */
#ifndef SLATE_CONTROL_GEOMETRY_GEOMETRY_H
#define SLATE_CONTROL_GEOMETRY_GEOMETRY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "control/pages/refit_page.h"
#include "control/geometry/geometry_plan.h"

enum {
    /* a change must make room for so many more items in all pages, or it is refused */
    GEOMETRY_GAIN_LEAST_PCT = 2,
    /* sizes that the look before found must still bring this share of the gain */
    GEOMETRY_STEADY_PCT = 75,
    GEOMETRY_RATE_PCT = 2, /* of all pages a second, unless told otherwise */
    GEOMETRY_HASTE = 8,
    GEOMETRY_ANSWER_BYTES = 384 + 8 * CLASS_SIZES_MAX, /* a prediction with all sizes */
    GEOMETRY_WHY_BYTES = 128,
};
#define GEOMETRY_NEVER PACE_NEVER
/* Between two looks whether other sizes would fit better. */
#define GEOMETRY_LOOK_US ((uint64_t)60 * 1000 * 1000)
/* Between such a look and the one that tells whether the sizes are steady. */
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
    bool     force;                  /* do it even if it gains little */
    bool     dry;                    /* only predict; nothing changes */
    void   (*done)(struct geometry_order *); /* is given the answer */
    char     answer[GEOMETRY_ANSWER_BYTES]; /* a line */
};

/* STARTING is only told: a memory file may have come from amid a change, and nobody has looked. */
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
    /* how many more items sizes fitted anew would make room for, at the last look */
    double   auto_gain_pct;
    double   seconds;       /* how long this change has run, without pauses */
    char     why[GEOMETRY_WHY_BYTES]; /* what it does or waits for */
};

struct geometry_change; /* geometry.c */
struct pace;
/* Makes a change that does nothing yet. The pace and the settings stay the caller's. Each step
 * reads the settings; one that finds `follow` switched looks for better sizes at once. NULL: no
 * memory. */
struct geometry_change *geometry_create(struct cache *, struct cache_thread *, struct pace *,
                                        bool may_move, const struct geometry_settings *,
                                        uint64_t now_us);
void geometry_destroy(struct geometry_change **); /* answers what still waits */

/* Hands the order over, until `done` is called. False: another order still
 * waits for its answer. */
bool geometry_order_take(struct geometry_change *, struct geometry_order *);
void geometry_facts(struct geometry_change *, struct geometry_facts *);
/* The classes that jobs of the owner name. Their ids do not become free until they are not among
 * them. Before a step. */
void geometry_hold_ids(struct geometry_change *, const struct class_set *named);

/* Goes on with what is due, and waits for nothing. Returns when it wants to be called again, as of
 * control/pages/pace.h; GEOMETRY_NEVER: when something is asked. */
uint64_t geometry_step(struct geometry_change *, uint64_t now_us);
#endif
