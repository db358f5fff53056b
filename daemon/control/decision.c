#include "control/decision.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *sentence;
} busy_words[] = {
    [MOVE_BUSY_NONE] = {"none", "the page stayed in use"},
    [MOVE_BUSY_UPLOAD] = {"draft", "a value in the page was still coming in"},
    [MOVE_BUSY_READER] = {"reader", "a value in the page was still being sent"},
    [MOVE_BUSY_NO_ROOM] = {"no room", "there was no room for the live items of the page"},
    [MOVE_BUSY_TURN] = {"turn", "a worker was busy for too long"},
};

const char *decision_busy_name(enum move_busy why) { return busy_words[why].name; }

const char *decision_busy_sentence(enum move_busy why) { return busy_words[why].sentence; }

struct page_move *decision_move(struct decision *d, unsigned from, unsigned to, unsigned pages,
                                const char *reason, ...) {
    if (d->count == DECISION_MOVES_MAX) {
        return NULL;
    }
    struct page_move *move = &d->moves[d->count++];
    va_list ap;
    *move = (struct page_move){.from = from, .to = to, .pages = pages};
    va_start(ap, reason);
    vsnprintf(move->reason, sizeof move->reason, reason, ap);
    va_end(ap);
    return move;
}

bool decision_none(struct decision *d, const char *why, ...) {
    va_list ap;
    d->count = 0;
    va_start(ap, why);
    vsnprintf(d->why, sizeof d->why, why, ap);
    va_end(ap);
    return false;
}

bool decision_fail(struct decision *d, const char *why, ...) {
    va_list ap;
    d->count = 0;
    d->failed = true;
    va_start(ap, why);
    vsnprintf(d->why, sizeof d->why, why, ap);
    va_end(ap);
    return false;
}
