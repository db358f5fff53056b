#include "serve/admin.h"

#include "base/clock.h"

void admin_verbosity(struct command_context *ctx, const struct words *w) {
    enum { VERBOSITY_MAX = 2 };
    uint32_t level;
    if (w->count < 2 || !word_u32(&w->word[1], &level)) {
        text_out_str(ctx->out, ANSWER_BAD_FORMAT);
        return;
    }
    struct settings from, to;
    server_settings(ctx->server, &from);
    to = from;
    to.verbosity = level > VERBOSITY_MAX ? VERBOSITY_MAX : (int)level;
    server_change(ctx->server, ctx->ct, &from, &to);
    text_out_str(ctx->out, ANSWER_OK);
}

/* Everything stored before now is gone, or, with a delay, everything stored before the second it takes effect. */
static void flush(struct command_context *ctx, int32_t delay) {
    struct settings from, to;
    uint32_t now_s = cache_now_s(ctx->ct);
    uint32_t at_s = delay > 0 ? clock_expiry_s(delay, now_s) - 1 : now_s;
    cache_flush(ctx->server->cache, at_s);
    server_settings(ctx->server, &from);
    to = from;
    to.oldest = (int)at_s;
    server_change(ctx->server, ctx->ct, &from, &to);
}

void admin_flush_all(struct command_context *ctx, const struct words *w) {
    int32_t delay = 0;
    counter_add(&ctx->counters->cmd_flush, 1);
    if (!ctx->server->settings->flush_enabled) {
        text_out_str(ctx->out, "CLIENT_ERROR flush_all not allowed\r\n");
    } else if (w->count > 1 && !word_i32(&w->word[1], &delay)) {
        text_out_str(ctx->out, "CLIENT_ERROR invalid exptime argument\r\n");
    } else {
        flush(ctx, delay);
        text_out_str(ctx->out, ANSWER_OK);
    }
}

void admin_shutdown(struct command_context *ctx, const struct words *w) {
    bool graceful = w->count == 2 && word_is(&w->word[1], "graceful");
    if (!ctx->server->settings->shutdown_command) {
        text_out_str(ctx->out, "SERVER_ERROR: shutdown not enabled\r\n");
    } else if (w->count > 1 && !graceful) {
        text_out_str(ctx->out, "CLIENT_ERROR invalid shutdown mode\r\n");
    } else {
        ctx->close = true;
        server_request_stop(ctx->server, graceful ? SERVER_STOP_GRACEFUL : SERVER_STOP);
    }
}

/* Up to what was reserved at the start, and down to what classes have. */
static bool set_limit(struct command_context *ctx, uint32_t megabytes) {
    struct settings from, to;
    char why[SETTING_WHY_BYTES];
    server_settings(ctx->server, &from);
    to = from;
    to.maxbytes = (uint64_t)megabytes << 20;
    return settings_check(&to, why) && server_change(ctx->server, ctx->ct, &from, &to);
}

void admin_cache_memlimit(struct command_context *ctx, const struct words *w) {
    enum { LEAST_MEGABYTES = 8, MOST_MEGABYTES = 1000000000 };
    uint32_t megabytes;
    if (w->count < 2 || !word_u32(&w->word[1], &megabytes)) {
        text_out_str(ctx->out, ANSWER_ERROR);
    } else if (megabytes < LEAST_MEGABYTES) {
        text_out_str(ctx->out, "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n");
    } else if (megabytes > MOST_MEGABYTES) {
        text_out_str(ctx->out, "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n");
    } else if (!set_limit(ctx, megabytes)) {
        text_out_str(ctx->out, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n");
    } else {
        text_out_str(ctx->out, ANSWER_OK);
    }
}

/* There is no event log yet, so nobody can be added to its watchers. */
void admin_watch(struct command_context *ctx, const struct words *w) {
    static const char *const kinds[] = {"fetchers", "mutations",  "evictions", "connevents", "proxyreqs", "proxyevents",
                                        "proxyuser", "deletions", "sysevents", "rawcmds"};
    if (!ctx->server->settings->watch_enabled) {
        text_out_str(ctx->out, "CLIENT_ERROR watch commands not allowed\r\n");
        return;
    }
    if (ctx->follows) {
        text_out_str(ctx->out, "ERROR cannot pipeline other commands before watch\r\n");
        return;
    }
    for (unsigned i = 1; i < w->count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            known |= word_is(&w->word[i], kinds[k]);
        }
        if (!known) {
            text_out_str(ctx->out, ANSWER_ERROR);
            return;
        }
    }
    text_out_str(ctx->out, "WATCHER_FAILED failed to add log watcher\r\n");
}

void admin_extstore(struct command_context *ctx, const struct words *w) {
    (void)w;
    text_out_str(ctx->out, ANSWER_ERROR);
}

void admin_refresh_certs(struct command_context *ctx, const struct words *w) {
    (void)w;
    text_out_str(ctx->out, ANSWER_ERROR);
}
