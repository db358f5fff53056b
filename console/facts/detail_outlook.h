/* What slated predicts of orders for other chunk sizes, asked for with `slabs geometry ... dry`:
 * the answer is a sentence with figures, and nothing changes. The server counts whole pages and the
 * page that each class has at least, which nobody can from outside.
 *
 * A view names the orders it wants to know about; each is asked again every OUTLOOK_EVERY_MS. Plain
 * data. Pure functions. */
#ifndef CONSOLE_FACTS_DETAIL_OUTLOOK_H
#define CONSOLE_FACTS_DETAIL_OUTLOOK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OUTLOOK_LIMIT = 8,
    OUTLOOK_ORDER_BYTES = 160,
    OUTLOOK_ANSWER_BYTES = 1024, /* with all chunk sizes */
    OUTLOOK_WORDS_BYTES = 256,
    OUTLOOK_EVERY_MS = 10000,
    OUTLOOK_OLD_MS = 20000, /* from then on its age is worth a word */
    OUTLOOK_TICKETS = 64 /* more than there are answers under way */
};

struct outlook {
    char order[OUTLOOK_ORDER_BYTES]; /* "factor 1.25", without "dry" */
    bool is_asked, is_known;
    unsigned ticket; /* of the question, by which its answer is told from others */
    uint64_t asked_ms, known_ms; /* known_ms: when the newest answer came */
    bool would_be_made;              /* the server would take the order, without force */
    /* of the prediction: more items, and what the memory of the items would waste; NAN: none */
    double classes, items_pct, waste_pct;
    char words[OUTLOOK_WORDS_BYTES]; /* the server's, without the first word */
};
struct outlook_list {
    unsigned count, tickets;
    struct outlook of[OUTLOOK_LIMIT];
};

/* From now on these orders are wanted; what is known of them already stays. */
void outlook_want(struct outlook_list *list, const char orders[][OUTLOOK_ORDER_BYTES],
                  unsigned count);

/* The next one to ask, with the line to send; NULL when none is due. It counts as asked. */
const struct outlook *outlook_next(struct outlook_list *list, uint64_t now_ms,
                             char line[OUTLOOK_ORDER_BYTES + 24]);

/* Takes the server's line to the question of that ticket; nobody may want it any more. That it is
 * BUSY with another's is no answer: what is known stays, and it is asked again with the next
 * refresh. */
void outlook_take(struct outlook_list *list, unsigned ticket, const char *text, size_t text_bytes,
                  uint64_t now_ms);

/* What is known about an order; NULL when nothing is. */
const struct outlook *outlook_of(const struct outlook_list *list, const char *order);
#endif
