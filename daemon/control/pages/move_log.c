#include "control/pages/move_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

void move_log_init(struct move_log *l) {
    memset(l, 0, sizeof *l);
    lock_init(&l->lock);
}

void move_log_fini(struct move_log *l) { lock_fini(&l->lock); }

void move_outcome(const struct move_record *m, char *to, size_t room) {
    const char *why = m->result.why_not;
    const char *what = m->result.pages >= m->wanted ? "moved"
                       : m->result.pages > 0        ? "moved in part"
                                                    : "given up";
    snprintf(to, room, "%s%s%s", what, why != NULL ? ", " : "", why != NULL ? why : "");
}

void move_sentence(const struct move_record *m, char to[MOVE_SENTENCE_BYTES]) {
    char outcome[REASON_BYTES];
    const struct move_result *r = &m->result;
    move_outcome(m, outcome, sizeof outcome);
    snprintf(to, MOVE_SENTENCE_BYTES,
             "%" PRIu64 " of %u pages from class %u to %u %s in %" PRIu64 " us, %" PRIu64
             " items rescued, %" PRIu64 " lost, %" PRIu64 " expired: %s",
             r->pages, m->wanted, m->from, m->to, outcome, r->duration_us,
             r->did.rescued + r->did.chunks_rescued, r->did.evicted, r->did.expired, m->reason);
}

void move_log_count(struct move_log *l, const struct move_result *more) {
    struct move_result *sums = &l->sums;
    lock_take(&l->lock);
    sums->pages += more->pages;
    sums->given_up += more->given_up;
    page_counts_add(&sums->did, &more->did);
    sums->busy_items += more->busy_items;
    sums->busy_deletes += more->busy_deletes;
    sums->no_room += more->no_room;
    sums->last_busy = more->last_busy != MOVE_BUSY_NONE ? more->last_busy : sums->last_busy;
    lock_release(&l->lock);
}

struct move_result move_log_sums(struct move_log *l) {
    lock_take(&l->lock);
    struct move_result sums = l->sums;
    lock_release(&l->lock);
    return sums;
}

void move_log_add(struct move_log *l, const char *by, const struct page_move *move,
                  const struct move_result *result) {
    char sentence[MOVE_SENTENCE_BYTES];
    struct move_record m = {.unix_ms = clock_unix_ms(),
                            .from = move->from,
                            .to = move->to,
                            .wanted = move->pages > result->pages ? move->pages
                                                                  : (unsigned)result->pages,
                            .result = *result};
    snprintf(m.by, sizeof m.by, "%s", by);
    snprintf(m.reason, sizeof m.reason, "%s", move->reason);
    lock_take(&l->lock);
    m.number = ++l->count;
    l->ring[(m.number - 1) % MOVES_SAVED] = m;
    lock_release(&l->lock);
    move_sentence(&m, sentence);
    log_info("%s: %s", m.by, sentence);
}

unsigned move_log_copy(struct move_log *l, struct move_record to[MOVES_SAVED]) {
    unsigned n = 0;
    lock_take(&l->lock);
    uint64_t first = l->count > MOVES_SAVED ? l->count - MOVES_SAVED : 0;
    for (uint64_t i = first; i < l->count; i++) {
        to[n++] = l->ring[i % MOVES_SAVED];
    }
    lock_release(&l->lock);
    return n;
}
