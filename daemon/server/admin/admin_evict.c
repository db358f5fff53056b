/* evict policy <name> [class]: sets the eviction policy of the cache or of one slab class. */
#include <stdio.h>

#include "server/admin/admin.h"

enum { NAME_BYTES = 32 };

static void evict_set_policy(struct command_context *ctx, const struct evict_policy *policy,
                             unsigned class_id) {
    struct cache *cache = ctx->server->cache;
    const struct settings *now = server_settings_now(ctx->server);
    struct undo_step *step = undo_begin(cache, now);
    cache_set_policy(cache, policy, class_id);
    undo_commit(&ctx->server->undo, cache, now, step);
}

/* Lists the classes with another policy, as "3=lru,7=sieve", as far as there is room. False: there
 * is none. */
static bool evict_other_policies(const struct cache *cache, const struct evict_policy *policy,
                                 char to[AUDIT_VALUE_BYTES]) {
    size_t used = 0;
    to[0] = '\0';
    for (unsigned id = SLAB_CLASS_NONE + 1; id < SLAB_CLASSES_MAX; id++) {
        const struct evict_policy *own = cache_class_policy(cache, id);
        char one[NAME_BYTES];
        int  n = snprintf(one, sizeof one, "%s%u=%s", used > 0 ? "," : "", id, own->name);
        if (own != policy && used + (size_t)n < AUDIT_VALUE_BYTES) {
            memcpy(to + used, one, (size_t)n + 1);
            used += (size_t)n;
        }
    }
    return used > 0;
}

static void evict_set_all(struct command_context *ctx, const char *name) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES], own[AUDIT_VALUE_BYTES];
    if (!setting_set(&to, setting_find("policy", strlen("policy")), name, false, why)) {
        text_out_printf(ctx->out, "CLIENT_ERROR policy %s\r\n", why);
        return;
    }
    admin_change(ctx, &to, why);
    /* Classes with a policy of their own get this one too, even if the setting does not change. */
    const struct evict_policy *policy = cache_policy(ctx->server->cache);
    if (evict_other_policies(ctx->server->cache, policy, own)) {
        evict_set_policy(ctx, policy, SLAB_CLASS_NONE);
        admin_audit_change(ctx, "policy of classes", own, policy->name);
    } else { /* setting the same policy again still protects items that were read */
        cache_set_policy(ctx->server->cache, policy, SLAB_CLASS_NONE);
    }
    text_out_str(ctx->out, REPLY_OK);
}

static void evict_set_class(struct command_context *ctx, const char *name,
                            const struct token *number) {
    struct cache *cache = ctx->server->cache;
    const struct evict_policy *policy = evict_find(name);
    unsigned most = cache_slab(cache)->class_count;
    uint32_t class_id;
    if (auto_follows(name)) {
        text_out_printf(ctx->out, "CLIENT_ERROR %s is for the whole cache\r\n", name);
    } else if (!policy) {
        text_out_str(ctx->out, "CLIENT_ERROR no such policy; stats policies lists them\r\n");
    } else if (!word_u32(number, &class_id) || class_id < 1 || class_id > most) {
        text_out_printf(ctx->out, "CLIENT_ERROR class must be from 1 to %u\r\n", most);
    } else {
        char what[NAME_BYTES];
        const char *was = cache_class_policy(cache, class_id)->name;
        snprintf(what, sizeof what, "policy of class %u", class_id);
        evict_set_policy(ctx, policy, class_id);
        admin_audit_change(ctx, what, was, name);
        text_out_str(ctx->out, REPLY_OK);
    }
}

void admin_evict(struct command_context *ctx, const struct words *w) {
    char name[NAME_BYTES];
    if (w->count < 3 || w->count > 4 || !word_is(&w->word[1], "policy") ||
        !word_text(&w->word[2], name, sizeof name)) {
        text_out_str(ctx->out, "CLIENT_ERROR usage: evict policy name [class]\r\n");
    } else if (w->count == 4) {
        evict_set_class(ctx, name, &w->word[3]);
    } else {
        evict_set_all(ctx, name);
    }
}
