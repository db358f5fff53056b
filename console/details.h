/* What the groups of stats said that only some views want, and that are asked for only while such a
 * view is shown. Each group is known, refused, or was not asked for; a view says which.
 *
 * Belongs to the model; filled by the poller. Memory: about 0.4 MB, and the page map. One thread;
 * times are monotonic milliseconds. */
#ifndef CONSOLE_DETAILS_H
#define CONSOLE_DETAILS_H
#include "detail_pages.h"
#include "detail_sample.h"
#include "detail_tune.h"
#include "stats.h"

enum detail_group {
    DETAIL_CLASS, /* every stat of one class: no request of its own, it is in stats items and slabs */
    DETAIL_MOVES,
    DETAIL_AUTOMOVE,
    DETAIL_POLICIES,
    DETAIL_EVICTIONS,
    DETAIL_PAGES,
    DETAIL_SIZEHIST,
    DETAIL_STOCK_SIZES, /* memcached's own stats sizes, and only where it is kept up to date */
    DETAIL_GEOMETRY,
    DETAIL_CURVE,
    DETAIL_CLASS_CURVES, /* some classes a refresh, in turn */
    DETAIL_WHATIF,
    DETAIL_HOTKEYS,
    DETAIL_COUNT
};
#define DETAIL_BIT(group) (1u << (group))

enum detail_state { DETAIL_UNASKED, DETAIL_KNOWN, DETAIL_REFUSED };

/* One stat of the class in focus, by the server's own name. */
struct named_stat {
    char name[32], value[24];
    double now, before; /* NAN: no number, or not seen before */
};
enum { NAMED_STATS = 96 };

struct class_detail {
    unsigned class_id;
    uint64_t at_ms, before_ms; /* of the newest refresh and the one before it */
    unsigned count;
    struct named_stat stats[NAMED_STATS];
};

struct details {
    struct {
        enum detail_state state;
        uint64_t at_ms;
        char refusal[100]; /* the server's words */
    } groups[DETAIL_COUNT];
    struct class_detail focus;
    struct move_list moves;
    struct worth_list worth;
    struct policy_list policies;
    struct eviction_ages ages;
    struct page_list pages;
    struct size_bins sizes;
    struct geometry_state geometry;
    struct curve curve;
    struct curve class_curves[CLASS_LIMIT]; /* count 0: not known */
    struct whatif whatif;
    struct hot_keys hot, hot_before; /* the newest answer, and the one before it */
    uint64_t hot_before_ms;
};

/* NULL when out of memory. */
struct details *details_create(void);
void details_destroy(struct details **details);
/* Everything unasked again: it is another server now. */
void details_forget(struct details *details);

/* Which class's stats are to be kept one by one; 0: none. */
void details_focus(struct details *details, unsigned class_id);

/* Takes in one whole answer. class_id is the class of a DETAIL_CLASS_CURVES answer. is_stats: it
 * ended with END; anything else is a refusal. */
void details_take(struct details *details, enum detail_group group, unsigned class_id,
                  const char *text, size_t text_bytes, bool is_stats, uint64_t now_ms);
/* Looks through an answer to stats items or stats slabs for the class in focus. */
void details_take_class(struct details *details, enum stats_group group, const char *text,
                        size_t text_bytes, uint64_t now_ms);

/* Whether this server can be asked for the group at all; why not, as a few words, else. */
bool detail_is_offered(enum detail_group group, const struct snapshot *now, const char **why_not);

/* True when the group is known. details may be NULL. */
bool detail_is_known(const struct details *details, enum detail_group group);
#endif
