/* Answers about page moves and tuning: stats moves, automove, policies, geometry and evictions.
 *
 * Plain data and its parsers; each parser overwrites all. A value that the server did not send is
 * NAN, "" or a count of 0. Pure functions. */
#ifndef CONSOLE_FACTS_DETAILS_DETAIL_TUNE_H
#define CONSOLE_FACTS_DETAILS_DETAIL_TUNE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOVES_LIMIT = 128, MODE_BYTES = 32, REASON_BYTES = 160, TUNE_CLASSES = 256, AGE_STEPS = 12 };

struct page_move {
    unsigned number;
    double time_s; /* unix time */
    unsigned from, to;
    double pages, lost;
    char mode[MODE_BYTES], outcome[48], reason[REASON_BYTES];
};
struct move_list {
    char mode[MODE_BYTES], why[REASON_BYTES], failed[REASON_BYTES];
    unsigned count;
    struct page_move moves[MOVES_LIMIT]; /* the oldest first, in the server's order */
};
void move_list_parse(struct move_list *list, const char *text, size_t text_bytes);
/* True if an automove mode failed, and the previous one took its place. */
bool move_list_has_failed(const struct move_list *list);

/* Hits per 1000 requests: gained by a page more, lost by a page less, of the mean page. */
struct page_worth {
    double gain, gain_doubt, loss, loss_doubt, average;
};
struct worth_list {
    char mode[MODE_BYTES];
    bool is_weighed; /* the mode weighs pages, and its first window has ended */
    struct page_worth classes[TUNE_CLASSES];
};
void worth_list_parse(struct worth_list *list, const char *text, size_t text_bytes);

struct policy_list {
    char active[16];
    char of_class[TUNE_CLASSES][16]; /* "": the active one */
};
void policy_list_parse(struct policy_list *list, const char *text, size_t text_bytes);

struct geometry_state {
    char state[MODE_BYTES], why[REASON_BYTES];
    double waste_before_pct, waste_predicted_pct;
};
void geometry_state_parse(struct geometry_state *geometry, const char *text, size_t text_bytes);

/* How long ago the evicted items of each class had been used. */
struct eviction_ages {
    char names[AGE_STEPS][24]; /* the server's: "under_1s" … "older" */
    uint32_t of_class[TUNE_CLASSES][AGE_STEPS];
    bool known[TUNE_CLASSES];
};
void eviction_ages_parse(struct eviction_ages *ages, const char *text, size_t text_bytes);
#endif
