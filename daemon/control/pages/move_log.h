/* The last page moves, for `stats moves` and the audit log. Threading: any thread. A copy shows one
 * moment. */
#ifndef SLATE_CONTROL_PAGES_MOVE_LOG_H
#define SLATE_CONTROL_PAGES_MOVE_LOG_H
#include <stdint.h>

#include "base/lock.h"
#include "control/decision.h"
#include "control/pages/mover.h"

enum { MOVES_SAVED = 64, MOVE_SENTENCE_BYTES = 2 * REASON_BYTES + 192 };

struct move_record {
    uint64_t number;                 /* 1 is the first since the start */
    uint64_t unix_ms;                /* when it ended */
    /* the origin of the move: the name of a mode, or operator, limit, geometry, steal */
    char     by[AUTOMOVE_NAME_BYTES];
    unsigned from, to, wanted;       /* wanted: pages */
    char     reason[REASON_BYTES];
    struct move_result result;       /* its pages and why_not are the outcome */
};

struct move_log {
    struct lock        lock;
    uint64_t           count;        /* moves ever; the newest is at (count - 1) % MOVES_SAVED */
    struct move_record ring[MOVES_SAVED];
    /* of pages, given_up, did, busy_items, busy_deletes, no_room; and last_busy */
    struct move_result sums;
};

void move_log_init(struct move_log *);
void move_log_fini(struct move_log *);
/* Adds a result to the sums. */
void move_log_count(struct move_log *, const struct move_result *);
struct move_result move_log_sums(struct move_log *);
/* Stores the move with its result, and logs both (base/log.h). */
void move_log_add(struct move_log *, const char *by, const struct page_move *,
                  const struct move_result *);
/* Copies the stored moves, the oldest first. Returns how many, at most MOVES_SAVED. */
unsigned move_log_copy(struct move_log *, struct move_record to[MOVES_SAVED]);
/* Writes the outcome: "moved", "moved in part, …" or "given up, …". */
void move_outcome(const struct move_record *, char *to, size_t room);
/* Writes the move without its origin and time, for a line of the log. */
void move_sentence(const struct move_record *, char to[MOVE_SENTENCE_BYTES]);
#endif
