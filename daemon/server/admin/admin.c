#include "server/admin/admin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "server/settings_change.h"
#include "watch/event.h"

bool admin_change(struct command_context *ctx, const struct settings *to, char *why) {
    return settings_change(ctx->server, ctx->who, to, why);
}

void admin_audit_change(struct command_context *ctx, const char *what, const char *was,
                        const char *is) {
    audit_add(&ctx->server->audit, ctx->who, what, was, is);
}

void admin_audit(struct command_context *ctx, const char *what, const char *is) {
    admin_audit_change(ctx, what, "", is);
}

void admin_verbosity(struct command_context *ctx, const struct words *w) {
    enum { VERBOSITY_MAX = 2 };
    uint32_t level;
    if (w->count < 2 || !word_u32(&w->word[1], &level)) {
        text_out_str(ctx->out, ANSWER_BAD_FORMAT);
        return;
    }
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES];
    to.verbosity = level > VERBOSITY_MAX ? VERBOSITY_MAX : (int)level;
    admin_change(ctx, &to, why);
    text_out_str(ctx->out, REPLY_OK);
}

/* Whether a flush takes effect at once: its time is past or within the next second. As in
 * memcached, whose clock begins a minute before its start, a unix time of that minute is past, and
 * one before that minute flushes nothing. */
static bool admin_flush_is_now(int32_t delay, uint32_t at_s, uint32_t now_s) {
    enum { BEFORE_START_S = 60 };
    return at_s > 0 ? at_s <= now_s
                    : delay >= clock_unix_s(CLOCK_EPOCH_S) - BEFORE_START_S;
}

/* Drops all items stored before now or, with a delay, before the second in which the flush takes
 * effect. */
static void admin_flush(struct command_context *ctx, int32_t delay) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES], when[32];
    uint32_t now_s = clock_now_s();
    uint32_t at_s = delay > 0 ? clock_expiry_s(delay, now_s) - 1 : now_s;
    if (admin_flush_is_now(delay, at_s, now_s)) {
        cache_flush_now(ctx->server->cache);
    } else {
        cache_flush(ctx->server->cache, at_s);
    }
    to.oldest = (int)at_s;
    admin_change(ctx, &to, why);
    snprintf(when, sizeof when, delay > CLOCK_RELATIVE_MAX_S ? "at unix time %d" : "in %d s",
             (int)delay);
    admin_audit(ctx, "flush_all", delay > 0 ? when : "now");
}

void admin_flush_all(struct command_context *ctx, const struct words *w) {
    int32_t delay = 0;
    counter_add(&ctx->counters->cmd_flush, 1);
    if (!ctx->server->at_start.flush_enabled) {
        text_out_str(ctx->out, "CLIENT_ERROR flush_all not allowed\r\n");
    } else if (w->count > 1 && !word_i32(&w->word[1], &delay)) {
        text_out_str(ctx->out, "CLIENT_ERROR invalid exptime argument\r\n");
    } else {
        admin_flush(ctx, delay);
        text_out_str(ctx->out, REPLY_OK);
    }
}

void admin_shutdown(struct command_context *ctx, const struct words *w) {
    bool graceful = w->count == 2 && word_is(&w->word[1], "graceful");
    if (!ctx->server->at_start.shutdown_command) {
        text_out_str(ctx->out, "SERVER_ERROR: shutdown not enabled\r\n");
    } else if (w->count > 1 && !graceful) {
        text_out_str(ctx->out, "CLIENT_ERROR invalid shutdown mode\r\n");
    } else {
        ctx->close = true;
        admin_audit(ctx, "shutdown", graceful ? "graceful" : "now");
        server_request_stop(ctx->server, graceful ? SERVER_STOP_GRACEFUL : SERVER_STOP);
    }
}

/* The limit may rise up to the memory reserved at the start. Pages over the limit are freed in the
 * background. */
static bool admin_set_limit(struct command_context *ctx, uint32_t megabytes) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES];
    to.maxbytes = (uint64_t)megabytes << 20;
    return admin_change(ctx, &to, why);
}

void admin_cache_memlimit(struct command_context *ctx, const struct words *w) {
    enum { LEAST_MEGABYTES = SETTINGS_LIVE_MEMORY_MIN / SETTINGS_MIB, MOST_MEGABYTES = 1000000000 };
    uint32_t megabytes;
    if (w->count < 2 || !word_u32(&w->word[1], &megabytes)) {
        text_out_str(ctx->out, REPLY_ERROR);
    } else if (megabytes < LEAST_MEGABYTES) {
        /* memcached's text */
        text_out_str(ctx->out, "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n");
    } else if (megabytes > MOST_MEGABYTES) {
        text_out_str(ctx->out, "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n");
    } else if (!admin_set_limit(ctx, megabytes)) {
        text_out_str(ctx->out, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n");
    } else {
        text_out_str(ctx->out, REPLY_OK);
    }
}

/* The bit of the first class of events whose name begins with `name`; 0: none. */
static unsigned admin_watch_class(const struct token *name) {
#define CLASS_NAME(constant, word) #word,
    static const char *const names[] = {EVENT_CLASSES_TABLE(CLASS_NAME)};
    for (unsigned i = 0; i < EVENT_CLASS_COUNT; i++) {
        if (word_begins(name, names[i])) {
            return 1u << i;
        }
    }
    return 0;
}

/* Parses sample=N: show events of one key in N only. 0: another word. */
static uint32_t admin_watch_sample(const struct token *word) {
    static const char name[] = "sample=";
    size_t   bytes = sizeof name - 1;
    uint32_t one_in;
    bool     good = word->bytes > bytes && memcmp(word->ptr, name, bytes) == 0 &&
                number_u32(word->ptr + bytes, word->bytes - bytes, &one_in);
    return good && one_in <= EVENT_SAMPLE_MAX ? one_in : 0;
}

void admin_watch(struct command_context *ctx, const struct words *w) {
    unsigned classes = 0;
    uint32_t one_in = 1;
    if (ctx->server->at_start.disable_watch) {
        text_out_str(ctx->out, "CLIENT_ERROR watch commands not allowed\r\n");
        return;
    }
    if (ctx->follows) {
        text_out_str(ctx->out, "ERROR cannot pipeline other commands before watch\r\n");
        return;
    }
    for (unsigned i = 1; i < w->count; i++) {
        unsigned class_bit = admin_watch_class(&w->word[i]);
        uint32_t sample = class_bit == 0 ? admin_watch_sample(&w->word[i]) : 0;
        if (sample > 0) {
            one_in = sample;
        } else if (class_bit == 0) {
            text_out_str(ctx->out, REPLY_ERROR);
            return;
        }
        classes |= class_bit;
    }
    ctx->watcher = watcher_open(classes != 0 ? classes : EVENT_FETCHERS, one_in);
    if (ctx->watcher) {
        text_out_str(ctx->out, REPLY_OK);
    } else if (errno == EUSERS) {
        text_out_str(ctx->out, "WATCHER_TOO_MANY log watcher limit reached\r\n");
    } else {
        log_warn("cannot watch: %s", strerror(errno));
        text_out_str(ctx->out, "WATCHER_FAILED failed to add log watcher\r\n");
    }
}

void admin_extstore(struct command_context *ctx, const struct words *w) {
    (void)w;
    text_out_str(ctx->out, REPLY_ERROR);
}

void admin_refresh_auth(struct command_context *ctx, const struct words *w) {
    char why[USERS_WHY_BYTES] = "no file of users was given";
    (void)w;
    if (ctx->server->users.path != NULL && users_load(&ctx->server->users, why)) {
        admin_audit(ctx, "refresh_auth", "done");
        text_out_str(ctx->out, REPLY_OK);
    } else {
        text_out_printf(ctx->out, "SERVER_ERROR %s\r\n", why);
    }
}

void admin_refresh_certs(struct command_context *ctx, const struct words *w) {
    const struct server_tls *tls = &ctx->server->tls;
    char why[SERVER_TLS_WHY_BYTES] = "Error TLS not enabled";
    (void)w;
    if (tls->reload != NULL && tls->reload(tls->reload_arg, why)) {
        admin_audit(ctx, "refresh_certs", "done");
        text_out_str(ctx->out, REPLY_OK);
    } else {
        text_out_str(ctx->out, why);
        text_out_str(ctx->out, "\r\n");
    }
}
