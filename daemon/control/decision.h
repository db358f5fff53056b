/* The answer of a mode of automove: page moves with their reasons, or why nothing moves. A value. A
 * reason is a line of words and figures: "class 5 evicts at age 12 s, class 9's tail is 340 s
 * old". */
#ifndef SLATE_CONTROL_DECISION_H
#define SLATE_CONTROL_DECISION_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages/page_moves.h"

enum {
    REASON_BYTES = 160,
    DECISION_MOVES_MAX = 8,
    MOVE_PAGES_MAX = 8, /* pages in one move; sets may take more (direct reclaim) */
    AUTOMOVE_NAME_BYTES = 128, /* a mode's name with its argument and terminator */
};

struct page_move {
    unsigned       from, to; /* classes; SLAB_CLASS_NONE: the pool */
    unsigned       pages;
    /* how many more pages sets may take while the move is under way; 0: sets do nothing */
    unsigned       assisted;
    enum page_pick pick;      /* which page the class loses */
    bool           last_too;  /* the class may lose its last page */
    char           reason[REASON_BYTES];
};

/* Why a chunk or a page could not move. */
enum move_busy {
    MOVE_BUSY_NONE,
    MOVE_BUSY_UPLOAD,  /* a value was still being received */
    MOVE_BUSY_READER,  /* a value was still being sent */
    MOVE_BUSY_NO_ROOM, /* there was no free chunk, and nothing may be dropped */
    MOVE_BUSY_TURN,    /* a worker's turn lasted for too long */
};
const char *decision_busy_name(enum move_busy);     /* a word, for statistics */
const char *decision_busy_sentence(enum move_busy); /* why a page went back */

/* The result of a move. */
struct move_result {
    uint64_t           pages;    /* pages that changed hands */
    unsigned           assisted;   /* how many of them sets emptied */
    uint64_t           given_up; /* pages that went back */
    struct page_counts did;
    /* Tries to free a chunk that was in use; items dropped while they were being sent; tries that
     * found no room. */
    uint64_t           busy_items, busy_deletes, no_room;
    enum move_busy     last_busy; /* the latest reason */
    uint64_t           duration_us;
    const char        *why_not;   /* why fewer pages moved than were wanted; NULL: all moved */
};

struct decision {
    unsigned         count;
    struct page_move moves[DECISION_MOVES_MAX]; /* carried out in this order */
    bool             extend; /* the window goes on: the next decision gets the same `before` */
    bool             later;  /* not decided yet; `decided` of the mode's row will answer */
    /* each_window is called again after this time; 0: when the mode's row says */
    uint32_t         again_us;
    /* the mode cannot run any more: the previous mode runs instead, and `why` is shown */
    bool             failed;
    char             why[REASON_BYTES]; /* why nothing moves, or what failed */
};

/* Adds a move of the page of least value, and returns it: the caller may change the pick. NULL:
 * there are DECISION_MOVES_MAX moves already. A reason that is too long is cut. */
__attribute__((format(printf, 5, 6))) struct page_move *decision_move(struct decision *,
                                                                      unsigned from, unsigned to,
                                                                      unsigned pages,
                                                                      const char *reason, ...);
/* Writes why nothing moves. Returns false, as a decision without moves does. */
__attribute__((format(printf, 2, 3))) bool decision_none(struct decision *, const char *why, ...);
/* Writes why the mode is broken: the previous mode runs instead. Returns false. */
__attribute__((format(printf, 2, 3))) bool decision_fail(struct decision *, const char *why, ...);
#endif
