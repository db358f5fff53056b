/* config get [pattern], config set <name> <value>, config undo: every setting by name. */
#include <fnmatch.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/settings_change.h"

enum { NAME_BYTES = 64, VALUE_BYTES = 256 };

/* When a setting can be changed: at the start only, while the server runs, or only through
 * others. */
static const char *config_when(const struct settings *now, const struct setting *row) {
    bool follows = row->when == SETTING_RUNTIME && !row->name;
    return setting_is_live(now, row) ? "runtime" : follows ? "follows" : "startup";
}

/* A pattern may match nothing. An unknown name, or more than one word, gets the answer of an
 * unknown command: clients of hosted services expect that for "config get cluster". */
static void config_get(struct command_context *ctx, const struct words *w) {
    struct settings now;
    char pattern[NAME_BYTES] = "*", value[SETTING_LIST_BYTES];
    bool fits = w->count < 3 ||
                (w->count == 3 && word_text(&w->word[2], pattern, sizeof pattern));
    bool is_known = fits && strpbrk(pattern, "*?[\\") != NULL;
    server_settings(ctx->server, &now);
    for (const struct setting *row = setting_table; fits && row < setting_table + SETTING_ROWS;
         row++) {
        const char *name = row->stat ? row->stat : row->name;
        if (row->type != SETTING_ACTION && row->type != SETTING_ABSENT &&
            fnmatch(pattern, name, 0) == 0) {
            setting_format(&now, row, value, sizeof value);
            text_out_printf(ctx->out, "CONFIG %s %s %s\r\n", name, value, config_when(&now, row));
            is_known = true;
        }
    }
    text_out_str(ctx->out, is_known ? "END\r\n" : REPLY_ERROR);
}

static void config_refuse_fixed(struct command_context *ctx, const struct settings *now,
                                const struct setting *row) {
    if (row->when != SETTING_RUNTIME) {
        text_out_str(ctx->out, "CLIENT_ERROR this setting cannot change while the server runs\r\n");
    } else if (!row->name) {
        text_out_printf(ctx->out, "CLIENT_ERROR %s cannot be changed: it shows %s\r\n",
                        row->stat, row->help);
    } else {
        text_out_printf(ctx->out, "CLIENT_ERROR %s needs --store=slab, this server has %s\r\n",
                        row->name, now->store);
    }
}

static void config_set(struct command_context *ctx, const struct words *w) {
    struct settings to = *server_settings_now(ctx->server);
    char value[VALUE_BYTES], why[SETTING_WHY_BYTES];
    const struct setting *row =
        w->count == 4 ? setting_find(w->word[2].ptr, w->word[2].bytes) : NULL;
    if (w->count != 4 || !word_text(&w->word[3], value, sizeof value)) {
        text_out_str(ctx->out, "CLIENT_ERROR usage: config set name value\r\n");
        return;
    }
    if (!row) {
        text_out_str(ctx->out, "CLIENT_ERROR no such setting\r\n");
        return;
    }
    if (!setting_is_live(&to, row)) {
        config_refuse_fixed(ctx, &to, row);
        return;
    }
    const struct setting live = setting_live(row, cache_limit_most(ctx->server->cache));
    if (!setting_set(&to, &live, value, false, why)) {
        text_out_printf(ctx->out, "CLIENT_ERROR %s %s\r\n", row->stat ? row->stat : row->name, why);
    } else if (admin_needs_trial(ctx, &to)) {
        admin_try_automove(ctx, to.slab_automove, "slab_automove");
    } else if (!admin_change(ctx, &to, why)) {
        text_out_printf(ctx->out, "CLIENT_ERROR %s\r\n", why);
    } else {
        text_out_str(ctx->out, REPLY_OK);
    }
}

static void config_undo_now(struct command_context *ctx) {
    char text[UNDO_TEXT_BYTES];
    switch (settings_undo(ctx->server, ctx->who, text)) {
    case 1: text_out_printf(ctx->out, "OK %s\r\n", text); break;
    case 0:
        text_out_str(ctx->out, "NOTHING to undo: no setting or policy was changed since the start, "
                               "or all is undone\r\n");
        break;
    default: text_out_printf(ctx->out, "CLIENT_ERROR cannot undo: %s\r\n", text); break;
    }
}

static void config_undo_tried(struct command_context *ctx, const char *mode, const char *subject) {
    (void)mode;
    (void)subject;
    config_undo_now(ctx);
}

static void config_undo(struct command_context *ctx, const struct words *w) {
    struct settings to = *server_settings_now(ctx->server);
    settings_preview_undo(ctx->server, &to);
    if (w->count != 2) {
        text_out_str(ctx->out, "CLIENT_ERROR usage: config undo\r\n");
    } else if (admin_needs_trial(ctx, &to)) {
        admin_try_then(ctx, to.slab_automove, "cannot undo", config_undo_tried);
    } else {
        config_undo_now(ctx);
    }
}

void admin_config(struct command_context *ctx, const struct words *w) {
    if (w->count > 1 && word_is(&w->word[1], "get")) {
        config_get(ctx, w);
    } else if (w->count > 1 && word_is(&w->word[1], "set")) {
        command_order(ctx, w, config_set);
    } else if (w->count > 1 && word_is(&w->word[1], "undo")) {
        command_order(ctx, w, config_undo);
    } else {
        text_out_str(ctx->out, REPLY_ERROR);
    }
}
