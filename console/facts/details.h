/* What a server answered to inquiries (inquiry.h), parsed: what only some views want, and what is
 * asked for only while such a view is shown.
 *
 * Belongs to the model; filled by whoever polls. Memory: about 0.3 MB, and the page map. One
 * thread; times are monotonic milliseconds. */
#ifndef CONSOLE_FACTS_DETAILS_H
#define CONSOLE_FACTS_DETAILS_H
#include "facts/detail_outlook.h"
#include "facts/detail_pages.h"
#include "facts/detail_sample.h"
#include "facts/detail_tune.h"
#include "facts/inquiry.h"

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
    struct answers answers; /* what became of each inquiry, and its text where that is kept */
    struct class_detail focus;
    struct move_list moves;
    struct worth_list worth;
    struct policy_list policies;
    struct eviction_ages ages;
    struct page_list pages;
    struct size_bins sizes;
    struct geometry_state geometry;
    struct curve curve;
    struct curve class_curves[CLASS_LIMIT]; /* count 0: too few reads, or not known */
    unsigned curves_first[2];               /* classes to ask for with each refresh; 0: none */
    struct whatif whatif;
    struct hot_keys hot;
    struct outlook_list outlooks;
};

/* What a screen shows beyond a refresh. All zero: nothing. */
struct wants {
    unsigned inquiries; /* INQUIRY_BITs */
    unsigned unhurried; /* others, with the next refresh */
    bool probes;        /* round trips of a short command, to measure them */
    unsigned class_id;  /* whose every stat is shown; 0: none */
    unsigned curves_first[2]; /* classes whose curves do not wait for their turn; 0: none */
    unsigned order_count;
    char orders[OUTLOOK_LIMIT][OUTLOOK_ORDER_BYTES]; /* of chunk sizes, whose outlook is shown */
};

/* NULL when out of memory. */
struct details *details_create(void);
void details_destroy(struct details **details);
/* Everything unasked again: it is another server now. */
void details_forget(struct details *details);

/* Which class's stats are to be kept one by one; 0: none. */
void details_focus(struct details *details, unsigned class_id);

/* What is known of one class is of another that had its id. */
void details_forget_class(struct details *details, unsigned class_id);

/* Takes in one whole answer. class_id is the class of a CLASS_CURVES answer. is_stats: it ended
 * with END; anything else is a refusal. */
void details_take(struct details *details, enum inquiry inquiry, unsigned class_id,
                  const char *text, size_t text_bytes, bool is_stats, uint64_t now_ms);
/* Takes from a reply of a refresh what was wanted of it: every stat of the class in focus, the
 * settings as text. is_stats is false for a refusal. */
void details_take_group(struct details *details, enum stats_group group, const char *text,
                        size_t text_bytes, bool is_stats, uint64_t now_ms);

/* True when the answer is there. details may be NULL. */
bool detail_is_known(const struct details *details, enum inquiry inquiry);
#endif
