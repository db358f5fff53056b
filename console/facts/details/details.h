/* The answers of a server to inquiries (inquiry.h), parsed. Only some views use them, and they are
 * requested only while such a view is shown.
 *
 * The model owns it; the poller's owner fills it. Memory: about 0.3 MB, and the page map. One
 * thread; times are monotonic milliseconds. */
#ifndef CONSOLE_FACTS_DETAILS_DETAILS_H
#define CONSOLE_FACTS_DETAILS_DETAILS_H
#include "facts/details/detail_pages.h"
#include "facts/details/detail_prediction.h"
#include "facts/details/detail_sample.h"
#include "facts/details/detail_tune.h"
#include "facts/details/inquiry.h"

/* One stat of the class in focus, by the server's own name. */
struct named_stat {
    char name[32], value[24];
    double now, before; /* NAN: no number, or no value */
};
enum { NAMED_STATS = 96 };

struct class_detail {
    unsigned class_id;
    uint64_t at_ms, before_ms; /* times of the last two refreshes */
    unsigned count;
    struct named_stat stats[NAMED_STATS];
};

struct details {
    struct answers answers; /* state of each inquiry, and its text if stored */
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
    unsigned curves_first[2];               /* classes requested with each refresh; 0: none */
    struct whatif whatif;
    struct hot_keys hot;
    struct prediction_list predictions;
};

/* The inquiries that a screen needs beyond a refresh. All zero: none. */
struct wants {
    unsigned inquiries; /* INQUIRY_BITs */
    unsigned unhurried; /* more INQUIRY_BITs, to send with the next refresh */
    bool probes;        /* the round trips of a short command are measured */
    unsigned class_id;  /* the class of which every stat is shown; 0: none */
    unsigned curves_first[2]; /* classes whose curves do not wait for their turn; 0: none */
    unsigned order_count;
    char orders[PREDICTION_LIMIT][PREDICTION_ORDER_BYTES]; /* orders of chunk sizes to predict */
};

/* NULL when out of memory. */
struct details *details_create(void);
void details_destroy(struct details **details);
/* Resets all inquiries to unasked, when the server is another. */
void details_forget(struct details *details);

/* Sets the class of which every stat is stored; 0: none. */
void details_focus(struct details *details, unsigned class_id);

/* Drops the answers about a class: they were about another class with its id. */
void details_forget_class(struct details *details, unsigned class_id);

/* Takes one complete answer. class_id is the class of a CLASS_CURVES answer. is_stats: the answer
 * ended with END; any other answer is a refusal. */
void details_take(struct details *details, enum inquiry inquiry, unsigned class_id,
                  const char *text, size_t text_bytes, bool is_stats, uint64_t now_ms);
/* Takes the wanted parts of a reply of a refresh: every stat of the class in focus, the settings as
 * text. is_stats is false for a refusal. */
void details_take_group(struct details *details, enum stats_group group, const char *text,
                        size_t text_bytes, bool is_stats, uint64_t now_ms);

/* True when the answer is known. details may be NULL. */
bool detail_is_known(const struct details *details, enum inquiry inquiry);
#endif
