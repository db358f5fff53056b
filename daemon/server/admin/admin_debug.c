/* debugtime stops and shifts the clock; debugitem holds items. Tests of time and of page moves then
 * need no waiting. Debug builds only. */
#include "server/admin/admin.h"

#ifdef SLATE_DEBUG
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"

void admin_debugtime(struct command_context *ctx, const struct words *w) {
    int32_t by_s;
    if (w->count == 2 && word_is(&w->word[1], "p")) {
        clock_pause();
    } else if (w->count == 2 && word_is(&w->word[1], "r")) {
        clock_resume();
    } else if (w->count == 2 && word_i32(&w->word[1], &by_s)) {
        clock_shift(by_s);
    } else {
        text_out_str(ctx->out, REPLY_ERROR);
        return;
    }
    /* A turn reads the clock at its start. A new turn shows the new time to the requests that
     * follow. */
    cache_turn_end(ctx->ct);
    cache_turn_begin(ctx->ct);
    text_out_str(ctx->out, REPLY_OK);
}

/* Items held by debugitem. They are few, and stay held after their connection ends. */
struct debug_item {
    struct debug_item *next;
    struct item *item; /* borrowed; NULL: a small value, which cannot be held */
    uint8_t      key_len;
    char         key[KEY_BYTES_MAX];
};
static struct lock  debug_lock = {PTHREAD_MUTEX_INITIALIZER};
static struct debug_item *debug_items;

static bool debug_hold_item(struct command_context *ctx, const struct key *key) {
    struct cache_view view;
    char value[ITEM_COPY_MAX + 8];
    struct cache_fetch fetch = {.no_bump = true, .want_value = true};
    struct debug_item *h = calloc(1, sizeof *h);
    if (!h || cache_fetch(ctx->ct, key, &fetch, value, &view) != CACHE_OK) {
        free(h);
        return false;
    }
    h->item = view.borrowed;
    h->key_len = key->len;
    memcpy(h->key, key->ptr, key->len);
    lock_take(&debug_lock);
    h->next = debug_items;
    debug_items = h;
    lock_release(&debug_lock);
    return true;
}

/* Releases the item that was held last under that key, or under any key if `key` is NULL. */
static bool debug_release_item(struct command_context *ctx, const struct key *key) {
    lock_take(&debug_lock);
    struct debug_item **at = &debug_items;
    while (*at && key &&
           ((*at)->key_len != key->len || memcmp((*at)->key, key->ptr, key->len) != 0)) {
        at = &(*at)->next;
    }
    struct debug_item *h = *at;
    if (h) {
        *at = h->next;
    }
    lock_release(&debug_lock);
    if (h && h->item) {
        cache_return(ctx->ct, h->item);
    }
    free(h);
    return h != NULL;
}

/* `lock` is `ref`, but succeeds without an item: here an item has no lock of its own, and a held
 * item cannot move. `reffed` names the item held last, whose key may have a new item by now. */
void admin_debugitem(struct command_context *ctx, const struct words *w) {
    if (w->count < 3 || w->word[2].bytes > KEY_BYTES_MAX) {
        text_out_str(ctx->out, REPLY_ERROR);
        return;
    }
    const struct token *verb = &w->word[1];
    struct key key = key_make(w->word[2].ptr, w->word[2].bytes);
    bool found = true;
    if (word_is(verb, "ref")) {
        found = debug_hold_item(ctx, &key);
    } else if (word_is(verb, "unref")) {
        found = debug_release_item(ctx, word_is(&w->word[2], "reffed") ? NULL : &key);
    } else if (word_is(verb, "lock")) {
        debug_hold_item(ctx, &key);
    } else if (word_is(verb, "unlock")) {
        debug_release_item(ctx, &key);
    } else {
        text_out_str(ctx->out, REPLY_ERROR);
        return;
    }
    text_out_str(ctx->out, found ? REPLY_OK : "MISS\r\n");
}
#endif
