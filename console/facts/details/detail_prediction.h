/* slated's predictions for orders of other chunk sizes, requested with `slabs geometry ... dry`:
 * the answer is a sentence with figures, and nothing changes. The server counts complete pages and
 * the page that each class has at least, which a client cannot.
 *
 * A view names the orders that it shows; each is requested again every PREDICTION_EVERY_MS. Plain
 * data. Pure functions. */
#ifndef CONSOLE_FACTS_DETAILS_DETAIL_PREDICTION_H
#define CONSOLE_FACTS_DETAILS_DETAIL_PREDICTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PREDICTION_LIMIT = 8,
    PREDICTION_ORDER_BYTES = 160,
    PREDICTION_ANSWER_BYTES = 1024, /* an answer has all chunk sizes */
    PREDICTION_WORDS_BYTES = 256,
    PREDICTION_EVERY_MS = 10000,
    PREDICTION_OLD_MS = 20000, /* an older prediction is shown with its age */
    PREDICTION_TICKETS = 64    /* more than answers under way */
};

struct prediction {
    char order[PREDICTION_ORDER_BYTES]; /* "factor 1.25", without "dry" */
    bool is_requested, is_known;
    unsigned ticket; /* the request's number, by which its answer is found */
    uint64_t requested_ms, known_ms; /* known_ms: when the newest answer came */
    bool would_be_made;              /* the server would obey it without force */
    /* the prediction: classes, more items, wasted share of the items' memory; NAN: none */
    double classes, items_pct, waste_pct;
    char words[PREDICTION_WORDS_BYTES]; /* the server's, without the first word */
};
struct prediction_list {
    unsigned count, tickets;
    struct prediction of[PREDICTION_LIMIT];
};

/* Sets the wanted orders; known predictions of them stay. */
void prediction_want(struct prediction_list *list, const char orders[][PREDICTION_ORDER_BYTES],
                     unsigned count);

/* The next order to request, with the line to send; NULL when none is due. Counts as requested. */
const struct prediction *prediction_next(struct prediction_list *list, uint64_t now_ms,
                                         char line[PREDICTION_ORDER_BYTES + 24]);

/* Takes the server's line for the request with this ticket; the order may be unwanted by now. BUSY
 * (with another client's order) is no answer: the known prediction stays, and the order is
 * requested again with the next refresh. */
void prediction_take(struct prediction_list *list, unsigned ticket, const char *text,
                     size_t text_bytes, uint64_t now_ms);

/* The prediction of an order; NULL when it is unknown. */
const struct prediction *prediction_of(const struct prediction_list *list, const char *order);
#endif
