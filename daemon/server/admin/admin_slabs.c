/* slabs reassign, and the choice of the function for each word behind `slabs`. */
#include "server/admin/admin.h"

#include <string.h>

static const char *slabs_reassign_answer(enum tuner_status status) {
    switch (status) {
    case TUNER_OK: return REPLY_OK;
    case TUNER_BUSY: return "BUSY currently processing reassign request\r\n";
    case TUNER_BAD_CLASS: return "BADCLASS invalid src or dst class id\r\n";
    case TUNER_NO_SPARE: return "NOSPARE source class has no spare pages\r\n";
    case TUNER_SAME: return "SAME src and dst class are identical\r\n";
    case TUNER_OFF: return "CLIENT_ERROR slab reassignment disabled\r\n";
    }
    return REPLY_ERROR;
}

static void slabs_reassign_cancelled(void *arg, unsigned moved, unsigned wanted) {
    struct command_context *ctx = arg;
    char what[AUDIT_VALUE_BYTES];
    snprintf(what, sizeof what, "%u of %u pages had moved", moved, wanted);
    admin_audit(ctx, "slabs reassign cancel", what);
    text_out_printf(ctx->out, "OK cancelled, %u of %u pages had moved\r\n", moved, wanted);
    command_answered(ctx);
}

/* slabs reassign cancel. The reply follows when the page that was being drained is back in its
 * class. */
static void slabs_cancel_reassign(struct command_context *ctx) {
    command_defer(ctx);
    if (!tuner_cancel(ctx->server->tuner, slabs_reassign_cancelled, ctx)) {
        text_out_str(ctx->out, "NOTHING to cancel: no reassign request is under way\r\n");
        command_answered(ctx);
    }
}

/* slabs reassign <src|-1> <dst|0> [pages] */
static void slabs_reassign(struct command_context *ctx, const struct words *w) {
    int32_t  from, to;
    uint32_t pages = 1;
    char     what[AUDIT_VALUE_BYTES];
    if (!ctx->server->at_start.slab_reassign) {
        text_out_str(ctx->out, slabs_reassign_answer(TUNER_OFF));
    } else if (w->count == 3 && word_is(&w->word[2], "cancel")) {
        slabs_cancel_reassign(ctx);
    } else if (w->count < 4 || w->count > 5) {
        text_out_str(ctx->out, REPLY_ERROR);
    } else if (!word_i32(&w->word[2], &from) || !word_i32(&w->word[3], &to) ||
               (w->count == 5 && (!word_u32(&w->word[4], &pages) || pages == 0))) {
        text_out_str(ctx->out, ANSWER_BAD_FORMAT);
    } else {
        enum tuner_status status = tuner_reassign(ctx->server->tuner, from, to, pages);
        if (status == TUNER_OK) {
            snprintf(what, sizeof what, "%u pages from class %d to %d", pages, from, to);
            admin_audit(ctx, "slabs reassign", what);
        }
        text_out_str(ctx->out, slabs_reassign_answer(status));
    }
}

void admin_slabs(struct command_context *ctx, const struct words *w) {
    enum cache_store_kind store = cache_store_kind(ctx->server->cache);
    if (store != CACHE_STORE_SLAB) {
        text_out_printf(ctx->out,
                        "CLIENT_ERROR slabs commands need --store=slab, this server has %s\r\n",
                        cache_store_name(store));
    } else if (w->count > 2 && word_begins(&w->word[1], "reassign")) {
        slabs_reassign(ctx, w);
    } else if (w->count > 1 && word_begins(&w->word[1], "automove")) {
        admin_slabs_automove(ctx, w);
    } else if (w->count > 1 && word_is(&w->word[1], "geometry")) {
        admin_slabs_geometry(ctx, w);
    } else {
        text_out_str(ctx->out, REPLY_ERROR);
    }
}
