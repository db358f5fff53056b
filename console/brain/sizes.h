/* Other chunk sizes and what each would bring, by lua/slate/judge/prediction.lua. Sizes are bytes,
 * ascending; the last one is the largest chunk there is. One thread. */
#ifndef CONSOLE_BRAIN_SIZES_H
#define CONSOLE_BRAIN_SIZES_H
#include "facts/model.h"

enum { SIZES_MOST = 256, SIZE_CHOICES_MOST = 8 };

struct size_list {
    unsigned count;
    double bytes[SIZES_MOST];
};

/* What one order would bring. */
struct size_choice {
    char order[OUTLOOK_ORDER_BYTES]; /* "factor 1.25" */
    bool is_known, is_worth_it, is_best;
    /* of the items that as much memory holds, as a ratio; NAN: not known */
    double classes, waste_ratio, items_change;
    char words[OUTLOOK_WORDS_BYTES];           /* the server's, when it has no figures; "" else */
};

struct size_plan {
    struct size_list now, best; /* best: empty unless a factor is the best order */
    double waste_ratio;         /* of now; NAN: not known */
    unsigned count;
    struct size_choice of[SIZE_CHOICES_MOST];
};

/* NULL before the first snapshot and when out of memory. Kept until the snapshot or a reply
 * changes; valid until then. */
const struct size_plan *brain_sizes(const struct model *model);

/* The orders that a slated is to be asked about; returns how many. */
unsigned brain_size_orders(char out[SIZE_CHOICES_MOST][OUTLOOK_ORDER_BYTES]);
#endif
