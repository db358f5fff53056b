#include "server/command_table.h"

#include "server/admin/admin.h"
#include "server/commands/command_words.h"
#include "server/stats/stats.h"

struct command {
    const char *name;
    bool        mutes; /* a last word `noreply` suppresses the reply, errors too */
    bool        is_order; /* the control thread runs it */
    enum role   role;  /* needed to run the command */
    void (*run)(struct command_context *, const struct words *);
    /* `other_role` is needed if the second word is one of these, or a prefix of one */
    enum role   other_role;
    const char *other_words[5];
};

static const struct command command_table[] = {
    {"stats", false, false, ROLE_READ, stats_command,
     ROLE_ADMIN, {"reset", "detail", "cachedump", "hotkeys"}},
    {"verbosity", true, true, ROLE_ADMIN, admin_verbosity, 0, {0}},
    {"flush_all", true, true, ROLE_ADMIN, admin_flush_all, 0, {0}},
    {"shutdown", true, true, ROLE_ADMIN, admin_shutdown, 0, {0}},
    {"cache_memlimit", true, true, ROLE_ADMIN, admin_cache_memlimit, 0, {0}},
    {"slabs", true, true, ROLE_ADMIN, admin_slabs, 0, {0}},
    {"lru", true, true, ROLE_ADMIN, admin_lru, 0, {0}},
    {"evict", true, true, ROLE_ADMIN, admin_evict, 0, {0}},
    {"lru_crawler", true, false, ROLE_ADMIN, admin_lru_crawler, 0, {0}},
    {"config", true, false, ROLE_ADMIN, admin_config, ROLE_READ, {"get"}},
    {"watch", false, false, ROLE_ADMIN, admin_watch, 0, {0}},
    {"extstore", true, false, ROLE_ADMIN, admin_extstore, 0, {0}},
    {"refresh_certs", false, true, ROLE_ADMIN, admin_refresh_certs, 0, {0}},
    {"refresh_auth", true, true, ROLE_ADMIN, admin_refresh_auth, 0, {0}},
#ifdef SLATE_DEBUG
    {"debugtime", true, false, ROLE_ADMIN, admin_debugtime, 0, {0}},
    {"debugitem", true, false, ROLE_ADMIN, admin_debugitem, 0, {0}},
#endif
};

static enum role command_role(const struct command *c, const struct words *w) {
    for (unsigned i = 0; c->other_words[i] != NULL; i++) {
        if (w->count > 1 && word_begins(&w->word[1], c->other_words[i])) {
            return c->other_role;
        }
    }
    return c->role;
}

static bool command_may_run(struct command_context *ctx, const struct command *c,
                            const struct words *w) {
    enum role needed = command_role(c, w);
    if (ctx->role >= needed) {
        return true;
    }
    counter_add(&ctx->counters->role_refusals, 1);
    users_log_refusal(&ctx->server->users, ctx->who, c->name);
    text_out_printf(ctx->out, "CLIENT_ERROR not allowed: this needs the role %s\r\n",
                    role_name(needed));
    return false;
}

bool command_run(struct command_context *ctx) {
    struct words words;
    words_split(ctx->line, ctx->line_bytes, &words);
    if (words.count == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof command_table / sizeof *command_table; i++) {
        if (!word_is(&words.word[0], command_table[i].name)) {
            continue;
        }
        bool   mute = command_table[i].mutes && ctx->noreply;
        size_t before = ctx->out->used;
        if (mute) {
            words.count--;
        }
        if (!command_may_run(ctx, &command_table[i], &words)) {
            /* refused */
        } else if (command_table[i].is_order) {
            command_order(ctx, &words, command_table[i].run);
        } else {
            command_table[i].run(ctx, &words);
        }
        if (mute) {
            ctx->out->used = before;
        }
        if (ctx->more) {
            ctx->more->mute = mute;
        }
        return true;
    }
    return false;
}
