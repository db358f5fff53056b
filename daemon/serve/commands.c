#include "serve/commands.h"

#include "serve/admin/admin.h"
#include "serve/stats/stats.h"
#include "serve/words.h"

struct command {
    const char *name;
    bool        mutes; /* a last word `noreply` silences it, errors too */
    void (*run)(struct command_context *, const struct words *);
};

static const struct command commands[] = {
    {"stats", false, stats_command},
    {"verbosity", true, admin_verbosity},
    {"flush_all", true, admin_flush_all},
    {"shutdown", true, admin_shutdown},
    {"cache_memlimit", true, admin_cache_memlimit},
    {"slabs", true, admin_slabs},
    {"lru", true, admin_lru},
    {"evict", true, admin_evict},
    {"lru_crawler", true, admin_lru_crawler},
    {"config", true, admin_config},
    {"watch", false, admin_watch},
    {"extstore", true, admin_extstore},
    {"refresh_certs", true, admin_refresh_certs},
#ifdef SLATE_DEBUG
    {"debugtime", true, admin_debugtime},
    {"debugitem", true, admin_debugitem},
#endif
};

bool command_run(struct command_context *ctx) {
    struct words words;
    words_split(ctx->line, ctx->line_bytes, &words);
    if (words.count == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!word_is(&words.word[0], commands[i].name)) {
            continue;
        }
        bool   mute = commands[i].mutes && ctx->noreply;
        size_t before = ctx->out->used;
        if (mute) {
            words.count--;
        }
        commands[i].run(ctx, &words);
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
