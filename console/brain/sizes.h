/* Other chunk sizes and their predicted gain, by lua/slate/judge/prediction.lua. Sizes are bytes,
 * ascending; the last is the largest possible chunk. One thread. */
#ifndef CONSOLE_BRAIN_SIZES_H
#define CONSOLE_BRAIN_SIZES_H
#include "facts/model.h"

enum { SIZES_MOST = 256, SIZE_CHOICES_MOST = 8 };

struct size_list {
    unsigned count;
    double bytes[SIZES_MOST];
};

/* The prediction for one order. */
struct size_choice {
    char order[PREDICTION_ORDER_BYTES]; /* "factor 1.25" */
    bool is_known, is_worth_it, is_best;
    /* items_change: of the items in the same memory, a ratio; NAN: not known */
    double classes, waste_ratio, items_change;
    char words[PREDICTION_WORDS_BYTES];           /* the server's, if without figures; else "" */
};

struct size_plan {
    struct size_list now, best; /* best: empty unless a factor is the best order */
    double waste_ratio;         /* of `now`; NAN: not known */
    unsigned count;
    struct size_choice of[SIZE_CHOICES_MOST];
};

/* NULL before the first snapshot and when out of memory. Kept until the snapshot or a reply
 * changes; valid until then. */
const struct size_plan *brain_sizes(const struct model *model);

/* Writes the orders whose prediction slatetop requests from slated; returns how many. */
unsigned brain_size_orders(char out[SIZE_CHOICES_MOST][PREDICTION_ORDER_BYTES]);
#endif
