/* stats audit: the last changes and the last page moves, in the order of their times. */
#include <inttypes.h>
#include <stdlib.h>

#include "control/pages/move_log.h"
#include "server/config/audit.h"
#include "server/stats/stats.h"

static void audit_put_change(struct text_out *out, const struct audit_entry *e) {
    text_out_printf(out, "STAT %" PRIu64 ":time %" PRIu64 ".%03u\r\n", e->number, e->unix_ms / 1000,
                    (unsigned)(e->unix_ms % 1000));
    text_out_printf(out, "STAT %" PRIu64 ":who %s\r\n", e->number, e->who);
    text_out_printf(out, "STAT %" PRIu64 ":what %s\r\n", e->number, e->what);
    if (e->was[0] != '\0') {
        text_out_printf(out, "STAT %" PRIu64 ":was %s\r\n", e->number, e->was);
    }
    text_out_printf(out, "STAT %" PRIu64 ":is %s\r\n", e->number, e->is);
}

static void audit_put_move(struct text_out *out, const struct move_record *m) {
    char sentence[MOVE_SENTENCE_BYTES];
    move_sentence(m, sentence);
    text_out_printf(out, "STAT move%" PRIu64 ":time %" PRIu64 ".%03u\r\n", m->number,
                    m->unix_ms / 1000, (unsigned)(m->unix_ms % 1000));
    text_out_printf(out, "STAT move%" PRIu64 ":who %s\r\n", m->number, m->by);
    text_out_printf(out, "STAT move%" PRIu64 ":what %s\r\n", m->number, sentence);
}

struct audit_timeline {
    unsigned change_count, move_count, change, move; /* change, move: the next to print */
    struct audit_entry changes[AUDIT_ENTRIES_MAX];
    struct move_record moves[MOVES_SAVED];
};

static bool audit_write_timeline(struct command_context *ctx, uint32_t *next, void *state) {
    struct audit_timeline *b = state;
    while (b->change < b->change_count || b->move < b->move_count) {
        ++*next;
        if (b->move == b->move_count ||
            (b->change < b->change_count &&
             b->changes[b->change].unix_ms <= b->moves[b->move].unix_ms)) {
            audit_put_change(ctx->out, &b->changes[b->change++]);
        } else {
            audit_put_move(ctx->out, &b->moves[b->move++]);
        }
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_audit(struct command_context *ctx) {
    struct audit_timeline *b = calloc(1, sizeof *b);
    if (b == NULL) {
        ctx->out->failed = true;
        return;
    }
    b->change_count = audit_copy(&ctx->server->audit, b->changes);
    b->move_count = move_log_copy(tuner_moves(ctx->server->tuner), b->moves);
    command_answer_pieces(ctx, audit_write_timeline, 0, b, sizeof *b);
    free(b);
}
