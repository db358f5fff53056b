/* lru_crawler enable, disable, sleep, tocrawl, crawl, metadump, mgdump. */
#include "server/admin/admin.h"
#include "server/commands/dump.h"

#define ANSWER_BAD_CLASS "BADCLASS invalid class id\r\n"

static const char *crawler_switch(struct settings *to, bool on) {
    if (on && to->lru_crawler) {
        /* The crawler runs already. The answer is memcached's. */
        return "ERROR failed to start lru crawler thread\r\n";
    }
    to->lru_crawler = on;
    return NULL;
}

static const char *crawler_set_sleep(const struct token *w, struct settings *to) {
    uint32_t us;
    if (!word_u32(w, &us)) {
        return ANSWER_BAD_FORMAT;
    }
    if (us > 1000000) {
        return "CLIENT_ERROR sleep must be one second or less\r\n";
    }
    to->lru_crawler_sleep = (int)us;
    return NULL;
}

static const char *crawler_set_tocrawl(const struct token *w, struct settings *to) {
    uint32_t items;
    if (!word_u32(w, &items) || items > INT32_MAX) {
        return ANSWER_BAD_FORMAT;
    }
    to->lru_crawler_tocrawl = (int)items;
    return NULL;
}

static void crawler_change(struct command_context *ctx, const struct words *w) {
    struct settings to = *server_settings_now(ctx->server);
    const char *error = REPLY_ERROR;
    char why[SETTING_WHY_BYTES];
    if (w->count == 2 && word_begins(&w->word[1], "enable")) {
        error = crawler_switch(&to, true);
    } else if (w->count == 2 && word_begins(&w->word[1], "disable")) {
        error = crawler_switch(&to, false);
    } else if (w->count == 3 && word_begins(&w->word[1], "sleep")) {
        error = crawler_set_sleep(&w->word[2], &to);
    } else if (w->count == 3 && word_begins(&w->word[1], "tocrawl")) {
        error = crawler_set_tocrawl(&w->word[2], &to);
    }
    if (!error) {
        admin_change(ctx, &to, why);
    }
    text_out_str(ctx->out, error ? error : REPLY_OK);
}

static void crawler_crawl(struct command_context *ctx, const struct words *w) {
    struct class_set classes;
    const char *answer = ANSWER_BAD_CLASS;
    if (word_classes(&w->word[2], server_class_last(ctx->server), &classes)) {
        switch (tuner_crawl(ctx->server->tuner, &classes)) {
        case CRAWL_OK: answer = REPLY_OK; break;
        case CRAWL_BUSY: answer = "BUSY currently processing crawler request\r\n"; break;
        case CRAWL_BAD_CLASS: answer = ANSWER_BAD_CLASS; break;
        case CRAWL_NOT_STARTED: answer = "NOTSTARTED no items to crawl\r\n"; break;
        }
    }
    text_out_str(ctx->out, answer);
}

static void crawler_dump(struct command_context *ctx, enum dump_kind kind,
                         const struct token *ids) {
    struct class_set classes = class_set_all();
    if (!ctx->server->at_start.dump_enabled) {
        text_out_str(ctx->out, kind == DUMP_META ? "ERROR metadump not allowed\r\n"
                                                 : "ERROR key dump not allowed\r\n");
    } else if (ctx->follows) {
        text_out_printf(ctx->out, "ERROR cannot pipeline other commands before %s\r\n",
                        kind == DUMP_META ? "metadump" : "mgdump");
    } else if (!word_is(ids, "hash") &&
               !word_classes(ids, server_class_last(ctx->server), &classes)) {
        text_out_str(ctx->out, ANSWER_BAD_CLASS);
    } else {
        dump_start(ctx, kind, &classes, 0);
    }
}

void admin_lru_crawler(struct command_context *ctx, const struct words *w) {
    bool is_crawl = w->count > 1 && word_begins(&w->word[1], "crawl");
    bool is_meta = w->count > 1 && word_begins(&w->word[1], "metadump");
    bool is_mg = w->count > 1 && !is_meta && word_begins(&w->word[1], "mgdump");
    struct settings now;
    if (!is_crawl && !is_meta && !is_mg) {
        command_order(ctx, w, crawler_change);
        return;
    }
    server_settings(ctx->server, &now);
    if (w->count != 3) {
        text_out_str(ctx->out, REPLY_ERROR);
    } else if (!now.lru_crawler) {
        text_out_str(ctx->out, "CLIENT_ERROR lru crawler disabled\r\n");
    } else if (is_crawl) {
        command_order(ctx, w, crawler_crawl);
    } else {
        crawler_dump(ctx, is_meta ? DUMP_META : DUMP_MG, &w->word[2]);
    }
}
