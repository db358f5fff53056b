/* What a mode of automove answers: page moves with their reasons, or why nothing moves. A value;
 * reasons are a line of words with the figures behind them, such as "class 5 evicts at age 12 s,
 * class 9's tail is 340 s old". */
#ifndef SLATE_TUNE_DECISION_H
#define SLATE_TUNE_DECISION_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"

enum {
    REASON_BYTES = 160,
    DECISION_MOVES_MAX = 8,
    MOVE_PAGES_MAX = 8, /* in one move; sets that help may take more */
    AUTOMOVE_NAME_BYTES = 128, /* a mode's name with its argument and terminator */
};

struct page_move {
    unsigned       from, to; /* classes; SLAB_CLASS_NONE: the pool */
    unsigned       pages;
    unsigned       helped;    /* while it is under way, sets may move so many more; 0: nor any */
    enum page_pick pick;      /* which page of the class leaves it */
    bool           last_too;  /* even the class's last page */
    char           reason[REASON_BYTES];
};

struct decision {
    unsigned         count;
    struct page_move moves[DECISION_MOVES_MAX]; /* carried out in this order */
    bool             extend; /* the window goes on: the next decision gets the same `before` */
    uint32_t         again_us; /* each_window is asked again so soon; 0: as the mode's row says */
    bool             failed; /* it cannot go on: the mode before takes its place, `why` is shown */
    char             why[REASON_BYTES]; /* why nothing moves, or what failed */
};

/* Adds a move of the page of least value; to change the pick, write to what is returned. NULL:
 * there are DECISION_MOVES_MAX already. A longer reason is cut. */
__attribute__((format(printf, 5, 6))) struct page_move *decision_move(struct decision *,
                                                                      unsigned from, unsigned to,
                                                                      unsigned pages,
                                                                      const char *reason, ...);
/* Nothing moves, and why. Returns false, as a decision without moves does. */
__attribute__((format(printf, 2, 3))) bool decision_none(struct decision *, const char *why, ...);
/* The mode is broken: the one before takes its place. Returns false. */
__attribute__((format(printf, 2, 3))) bool mode_failed(struct decision *, const char *why, ...);
#endif
