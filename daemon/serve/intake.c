/* Receiving a value that is too large to wait in the connection's buffer: all its memory is reserved first, then the
 * bytes go where they will stay, and when the last has come the item is published. */
#include <stdlib.h>

#include "base/sanitize.h"
#include "serve/observe.h"

/* Replies an error in place of storing and drops the data block. */
static void refuse(struct batch *b, struct session *s, const struct request *r, const char *text) {
    char *p = batch_reply_begin(b, s->slot);
    if (p) {
        batch_reply_end(b, r->flags & REQUEST_NOREPLY ? p : put_text(p, text));
    }
    s->swallow_bytes = (uint64_t)r->value_bytes + 2;
}

/* A copy of the request whose key and text live as long as it does. NULL: out of memory. */
static struct intake *intake_of(const struct request *r, const struct cache_store *store) {
    size_t text_bytes = r->verb == VERB_META_SET ? r->text_bytes : 0;
    struct intake *in = malloc(sizeof *in + r->key.len + text_bytes + PARSE_SLACK);
    if (!in) {
        return NULL;
    }
    *in = (struct intake){.request = *r, .store = *store};
    char *key = (char *)(in + 1), *text = key + r->key.len;
    memcpy(key, r->key.ptr, r->key.len);
    in->request.key.ptr = key;
    if (text_bytes > 0) {
        memcpy(text, r->text, text_bytes);
        in->request.text = text;
    }
    return in;
}

void intake_begin(struct batch *b, struct session *s, const struct request *r) {
    struct cache_store store;
    struct meta_flags flags;
    if (r->verb == VERB_META_SET) {
        const char *error = meta_store_of(b, r, &flags, &store);
        if (error) {
            refuse(b, s, r, error);
            return;
        }
    } else {
        classic_store_of(b, r, &store);
    }
    struct item *draft = NULL;
    enum cache_status status = cache_reserve(b->ct, &r->key, &store, &draft);
    if (status != CACHE_OK) {
        if (observed(b, ~0u)) {
            observe_lookup(b, r);
        }
        if (observed(b, EVENT_MUTATIONS)) {
            observe_store(b, r, r->verb == VERB_META_SET ? &flags : NULL, status, NULL);
        }
        if (r->verb == VERB_META_SET && store.mode != CACHE_SET) {
            meta_drop(b, &r->key);
        }
        refuse(b, s, r, status == CACHE_TOO_LARGE ? reply_too_large : reply_no_memory);
        return;
    }
    struct intake *in = intake_of(r, &store);
    if (!in) {
        cache_abandon(b->ct, draft);
        if (store.mode == CACHE_SET) {
            meta_drop(b, &r->key); /* rather than leave a value that the client knows to be old */
        }
        refuse(b, s, r, reply_no_memory);
        return;
    }
    if (r->verb == VERB_META_SET) {
        meta_flags_parse(&in->request, &in->flags); /* once more: its tokens point into the copy */
    }
    in->draft = draft;
    s->intake = in;
}

size_t intake_take(struct batch *b, struct session *s, const char *bytes, size_t n) {
    size_t taken = 0;
    while (taken < n && !intake_whole(s->intake)) {
        struct iovec iov[16];
        int pieces = session_value_iov(s, b, iov, 16);
        for (int i = 0; i < pieces && taken < n; i++) {
            size_t step = iov[i].iov_len < n - taken ? iov[i].iov_len : n - taken;
            sanitize_ignore_writes_begin();
            memcpy(iov[i].iov_base, bytes + taken, step);
            sanitize_ignore_writes_end();
            taken += step;
            s->intake->got += step;
        }
    }
    return taken;
}

void intake_finish(struct batch *b, struct session *s) {
    struct intake *in = s->intake;
    in->request.slot = s->slot;
    const struct request *r = &in->request;
    bool good = in->line_end[0] == '\r' && in->line_end[1] == '\n';
    struct cache_view view = {0};
    enum cache_status status = CACHE_OK;
    if (good) {
        if (observed(b, ~0u)) {
            observe_lookup(b, r);
        }
        status = cache_publish(b->ct, in->draft, &in->store, &view);
    } else {
        cache_abandon(b->ct, in->draft);
    }
    s->intake = NULL;
    char *p = batch_reply_begin(b, s->slot);
    if (p && !good) {
        p = r->flags & REQUEST_NOREPLY ? p : PUT(p, reply_bad_data);
    } else if (p && r->verb == VERB_META_SET) {
        p = meta_stored(b, r, &in->flags, status, &view, p);
    } else if (p) {
        p = classic_stored(b, r, status, &view, p);
    }
    if (p) {
        batch_reply_end(b, p);
    }
    free(in);
}

void intake_abandon(struct cache_thread *ct, struct session *s) {
    cache_abandon(ct, s->intake->draft);
    free(s->intake);
    s->intake = NULL;
}
