/* slabs reassign, slabs automove. */
#include "serve/admin.h"

static const char *reassign_answer(enum tune_status status) {
    switch (status) {
    case TUNE_OK: return ANSWER_OK;
    case TUNE_BUSY: return "BUSY currently processing reassign request\r\n";
    case TUNE_BAD_CLASS: return "BADCLASS invalid src or dst class id\r\n";
    case TUNE_NO_SPARE: return "NOSPARE source class has no spare pages\r\n";
    case TUNE_SAME: return "SAME src and dst class are identical\r\n";
    case TUNE_DISABLED: return "CLIENT_ERROR slab reassignment disabled\r\n";
    }
    return ANSWER_ERROR;
}

/* slabs reassign <src|-1> <dst|0> [pages] */
static void reassign(struct command_context *ctx, const struct words *w) {
    int32_t  from, to;
    uint32_t pages = 1;
    if (!ctx->server->settings->slab_reassign) {
        text_out_str(ctx->out, reassign_answer(TUNE_DISABLED));
    } else if (w->count < 4 || w->count > 5) {
        text_out_str(ctx->out, ANSWER_ERROR);
    } else if (!word_i32(&w->word[2], &from) || !word_i32(&w->word[3], &to) ||
               (w->count == 5 && (!word_u32(&w->word[4], &pages) || pages == 0))) {
        text_out_str(ctx->out, ANSWER_BAD_FORMAT);
    } else {
        text_out_str(ctx->out, reassign_answer(tuner_reassign(ctx->server->tuner, from, to, pages)));
    }
}

/* The mode a word names, by number or name; -1: none. */
static int automove_mode(const struct word *w) {
    static const char *const names[] = {
        [AUTOMOVE_OFF] = "off", [AUTOMOVE_RATIO] = "ratio", [AUTOMOVE_EVICTION] = "eviction"};
    for (int mode = 0; mode <= AUTOMOVE_EVICTION; mode++) {
        if (word_is(w, names[mode])) {
            return mode;
        }
    }
    uint32_t mode;
    return word_u32(w, &mode) && mode <= AUTOMOVE_EVICTION ? (int)mode : -1;
}

/* slabs automove ratio <r>, slabs automove window <s>, slabs automove freeratio <r>. True: it was one of them. */
static bool automove_knob(const struct words *w, struct settings *to, const char **error) {
    const struct word *knob = &w->word[2], *value = &w->word[3];
    uint32_t window_s;
    double   ratio;
    if (word_is(knob, "window")) {
        if (w->count < 4 || !word_u32(value, &window_s)) {
            *error = ANSWER_BAD_FORMAT;
        } else if (window_s < 3 || window_s > 1800) {
            *error = "CLIENT_ERROR automove window too low or too high\r\n";
        } else {
            to->slab_automove_window = (int)window_s;
        }
        return true;
    }
    bool is_ratio = word_is(knob, "ratio") && w->count > 3;
    if (!is_ratio && !word_is(knob, "freeratio")) {
        return false;
    }
    if (w->count < 4 || !word_double(value, &ratio)) {
        *error = ANSWER_ERROR;
    } else if (is_ratio && (ratio < 0.01 || ratio > 1)) {
        *error = "CLIENT_ERROR automove ratio must be from 0.01 to 1\r\n";
    } else if (is_ratio) {
        to->slab_automove_ratio = ratio;
    } else {
        to->slab_automove_freeratio = ratio;
    }
    return true;
}

static void automove(struct command_context *ctx, const struct words *w) {
    struct settings from, to;
    const char *error = NULL;
    uint32_t number;
    if (w->count < 3) {
        text_out_str(ctx->out, ANSWER_ERROR);
        return;
    }
    server_settings(ctx->server, &from);
    to = from;
    if (!automove_knob(w, &to, &error)) {
        int mode = automove_mode(&w->word[2]);
        if (mode < 0) {
            error = word_u32(&w->word[2], &number) ? ANSWER_ERROR : ANSWER_BAD_FORMAT;
        } else {
            to.slab_automove = mode;
        }
    }
    if (!error) {
        server_change(ctx->server, ctx->ct, &from, &to);
    }
    text_out_str(ctx->out, error ? error : ANSWER_OK);
}

void admin_slabs(struct command_context *ctx, const struct words *w) {
    if (w->count > 2 && word_is(&w->word[1], "reassign")) {
        reassign(ctx, w);
    } else if (w->count > 1 && word_is(&w->word[1], "automove")) {
        automove(ctx, w);
    } else {
        text_out_str(ctx->out, ANSWER_ERROR);
    }
}
