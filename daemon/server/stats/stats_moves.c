/* stats moves: sums over all page moves, and the last moves one by one. */
#include <inttypes.h>

#include "control/pages/move_log.h"
#include "server/stats/stats.h"

/* clang-format off */
#define MOVES_STATS(X) \
    X(mode, text, name, TEXT, words.mode, "mode of automove") \
    X(why, text, reason, TEXT, words.why, "last decision, or the reason why no page moves") \
    X(failed, text, reason, TEXT, words.failed[0] ? words.failed : "none", \
      "the mode that failed last, with the reason; the mode before it, or off, took its place") \
    X(state, text, reason, TEXT, words.state[0] ? words.state : "none", \
      "state of the mode, in its own words") \
    X(running, gauge, flag, U64, t.moving, "1: a page is being moved, or its move was requested") \
    X(pages_moved, counter, pages, U64, t.moved.pages - b.moved.pages, \
      "pages moved between classes") \
    X(over_limit, gauge, pages, U64, t.pages_over, \
      "pages over the memory limit: first pages of classes, and those to be given back after the " \
      "limit was lowered") \
    X(over_limit_why, text, reason, TEXT, \
      t.pages_over > 0 && t.over_why != NULL ? t.over_why : "none", \
      "why the last search for a page to give back found none") \
    X(steals, counter, pages, U64, cache.counters.page_steals, \
      "pages that a set with nothing left took at once from another class") \
    X(given_up, counter, pages, U64, t.moved.given_up - b.moved.given_up, \
      "pages that stayed in their class because a slow reader held an item, or for lack of room") \
    X(rescues, counter, items, U64, t.moved.did.rescued - b.moved.did.rescued, \
      "items copied out of moving pages") \
    X(chunk_rescues, counter, chunks, U64, \
      t.moved.did.chunks_rescued - b.moved.did.chunks_rescued, \
      "pieces of large values copied out of moving pages") \
    X(evicted, counter, items, U64, t.moved.did.evicted - b.moved.did.evicted, \
      "live items dropped from moving pages because there was no room for their copy") \
    X(expired, counter, items, U64, t.moved.did.expired - b.moved.did.expired, \
      "expired items found in moving pages") \
    X(busy, counter, items, U64, t.moved.busy_items - b.moved.busy_items, \
      "times that an item of a moving page had to be tried again because it was being sent or " \
      "stored") \
    X(last_busy, text, reason, TEXT, decision_busy_name(t.moved.last_busy), \
      "the latest reason why an item could not be moved")

/* Rows of one move, as NUMBER:field. */
#define MOVE_FIELDS(X) \
    X(time, "%" PRIu64 ".%03u", m->unix_ms / 1000, (unsigned)(m->unix_ms % 1000)) \
    X(mode, "%s", m->by) \
    X(from, "%u", m->from) \
    X(to, "%u", m->to) \
    X(pages, "%" PRIu64, m->result.pages) \
    X(wanted, "%u", m->wanted) \
    X(rescued, "%" PRIu64, m->result.did.rescued + m->result.did.chunks_rescued) \
    X(lost, "%" PRIu64, m->result.did.evicted) \
    X(expired, "%" PRIu64, m->result.did.expired) \
    X(duration_us, "%" PRIu64, m->result.duration_us) \
    X(outcome, "%s", outcome) \
    X(reason, "%s", m->reason)
/* clang-format on */

#define MOVE_PUT(field, format, ...) \
    text_out_printf(out, "STAT %" PRIu64 ":" #field " " format "\r\n", m->number, __VA_ARGS__);

const struct counter_info stats_moves_info[] = {MOVES_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

static void put_move(struct text_out *out, const struct move_record *m) {
    char outcome[REASON_BYTES];
    move_outcome(m, outcome, sizeof outcome);
    MOVE_FIELDS(MOVE_PUT)
}

struct moves_copy {
    unsigned           count;
    struct move_record moves[MOVES_SAVED];
};

static bool write_moves(struct command_context *ctx, uint32_t *next, void *state) {
    const struct moves_copy *all = state;
    while (*next < all->count) {
        put_move(ctx->out, &all->moves[(*next)++]);
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_moves(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct moves_copy all;
    struct cache_facts cache;
    struct server_baseline base;
    struct tuner_facts t, b;
    struct tuner_words words;
    cache_facts(ctx->server->cache, &cache);
    tuner_facts(ctx->server->tuner, &t);
    tuner_words(ctx->server->tuner, &words);
    server_baseline(ctx->server, &base);
    b = base.tune;
    MOVES_STATS(STATS_PUT)
    all.count = move_log_copy(tuner_moves(ctx->server->tuner), all.moves);
    command_answer_pieces(ctx, write_moves, 0, &all, sizeof all);
}
