/* lru mode, lru tune, lru temp_ttl: memcached's commands for settings that `config set` has too. */
#include "server/admin/admin.h"

static const char *lru_set_tuning(const struct words *w, struct settings *to) {
    uint32_t hot_pct, warm_pct;
    double   hot_factor, warm_factor;
    if (!word_u32(&w->word[2], &hot_pct) || !word_u32(&w->word[3], &warm_pct) ||
        !word_double(&w->word[4], &hot_factor) || !word_double(&w->word[5], &warm_factor)) {
        return REPLY_ERROR;
    }
    if ((uint64_t)hot_pct + warm_pct > 80) {
        return "ERROR hot and warm pcts must not exceed 80\r\n";
    }
    if (hot_factor <= 0 || warm_factor <= 0) {
        return "ERROR hot/warm age factors must be greater than 0\r\n";
    }
    to->hot_lru_pct = (int)hot_pct;
    to->warm_lru_pct = (int)warm_pct;
    to->hot_max_factor = hot_factor;
    to->warm_max_factor = warm_factor;
    return NULL;
}

static const char *lru_set_mode(const struct words *w, struct settings *to) {
    bool segmented = word_begins(&w->word[2], "segmented");
    if (!to->lru_maintainer || (!segmented && !word_begins(&w->word[2], "flat"))) {
        return REPLY_ERROR;
    }
    char why[SETTING_WHY_BYTES];
    setting_set(to, setting_find("policy", strlen("policy")), segmented ? "slru" : "lru", false,
                why);
    return NULL;
}

static const char *lru_set_temporary_ttl(const struct words *w, struct settings *to) {
    int32_t ttl_s;
    if (!to->lru_maintainer || !word_i32(&w->word[2], &ttl_s)) {
        return REPLY_ERROR;
    }
    to->temp_lru = ttl_s >= 0;
    to->temporary_ttl = ttl_s >= 0 ? ttl_s : to->temporary_ttl;
    return NULL;
}

void admin_lru(struct command_context *ctx, const struct words *w) {
    static const struct {
        const char *name;
        unsigned    words; /* fewest words of the line: `lru t` is `tune` if four numbers follow */
        /* returns an error, or NULL */
        const char *(*change)(const struct words *, struct settings *);
    } knobs[] = {{"mode", 3, lru_set_mode},
                 {"tune", 6, lru_set_tuning},
                 {"temp_ttl", 3, lru_set_temporary_ttl}};
    struct settings to = *server_settings_now(ctx->server);
    const char *error = REPLY_ERROR;
    char why[SETTING_WHY_BYTES];
    for (size_t i = 0; w->count > 1 && i < sizeof knobs / sizeof *knobs; i++) {
        if (w->count >= knobs[i].words && word_begins(&w->word[1], knobs[i].name)) {
            error = knobs[i].change(w, &to);
            break;
        }
    }
    if (!error) {
        admin_change(ctx, &to, why);
    }
    text_out_str(ctx->out, error ? error : REPLY_OK);
}
