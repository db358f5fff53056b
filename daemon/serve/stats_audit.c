/* stats audit: the last changes, and between them, by their time, the last page moves. */
#include <inttypes.h>
#include <stdlib.h>

#include "serve/audit.h"
#include "serve/stats.h"
#include "tune/moves.h"

static void put_change(struct text_out *out, const struct audit_entry *e) {
    text_out_printf(out, "STAT %" PRIu64 ":time %" PRIu64 ".%03u\r\n", e->number, e->unix_ms / 1000, (unsigned)(e->unix_ms % 1000));
    text_out_printf(out, "STAT %" PRIu64 ":who %s\r\n", e->number, e->who);
    text_out_printf(out, "STAT %" PRIu64 ":what %s\r\n", e->number, e->what);
    if (e->was[0] != '\0') {
        text_out_printf(out, "STAT %" PRIu64 ":was %s\r\n", e->number, e->was);
    }
    text_out_printf(out, "STAT %" PRIu64 ":is %s\r\n", e->number, e->is);
}

static void put_move(struct text_out *out, const struct move_record *m) {
    char sentence[MOVE_SENTENCE_BYTES];
    move_sentence(m, sentence);
    text_out_printf(out, "STAT move%" PRIu64 ":time %" PRIu64 ".%03u\r\n", m->number, m->unix_ms / 1000, (unsigned)(m->unix_ms % 1000));
    text_out_printf(out, "STAT move%" PRIu64 ":who %s\r\n", m->number, m->by);
    text_out_printf(out, "STAT move%" PRIu64 ":what %s\r\n", m->number, sentence);
}

void stats_audit(struct command_context *ctx) {
    struct both {
        struct audit_entry changes[AUDIT_KEPT];
        struct move_record moves[MOVES_KEPT];
    } *b = malloc(sizeof *b);
    if (b == NULL) {
        return; /* an empty answer: the log has it all */
    }
    unsigned changes = audit_copy(&ctx->server->audit, b->changes), moves = move_log_copy(tuner_moves(ctx->server->tuner), b->moves);
    for (unsigned c = 0, m = 0; c < changes || m < moves;) {
        if (m == moves || (c < changes && b->changes[c].unix_ms <= b->moves[m].unix_ms)) {
            put_change(ctx->out, &b->changes[c++]);
        } else {
            put_move(ctx->out, &b->moves[m++]);
        }
    }
    free(b);
}
