/* Receiving a value that is too large to wait in the connection's buffer: as its bytes come, memory
 * is taken a little ahead, they go where they will stay, and when the last has come the item is
 * published. */
#include <stdlib.h>

#include "base/sanitize.h"
#include "protocol/binary.h"
#include "server/session/session_internal.h"
#include "server/verbs/observe.h"

enum {
    /* memory is taken so far ahead of the bytes that have come: more than one receive brings, and
     * little beside a page */
    AHEAD_BYTES = 64 * 1024,
    /* until so many bytes have come no memory is taken: they wait in the connection's buffer, as
     * small values do */
    FIRST_BYTES = ITEM_COPY_MAX,
};

/* Replies an error instead of storing, and drops what is still to come of the data block. */
static void refuse(struct batch *b, struct session *s, const struct request *r, const char *text,
                   size_t got) {
    char *p = batch_reply_begin(b, s->slot);
    if (p) {
        batch_reply_end(b, r->flags & REQUEST_NOREPLY ? p : put_text(p, text));
    }
    s->swallow_bytes = request_block_bytes(r) - got;
}

/* Tells those who watch what the request will find. */
static void observe(struct batch *b, const struct session *s, const struct request *r) {
    if (observed(&b->sv, ~0u)) {
        b->sv.fd = s->fd;
        observe_begin(&b->sv, event_watched(~0u), r);
        observe_lookup(&b->sv, r);
    }
}

/* The cache refused the store: replies that. */
static void refused(struct batch *b, struct session *s, const struct request *r,
                    const struct meta_flags *flags, const struct cache_store *store,
                    enum cache_status status, size_t got) {
    bool meta = r->verb == VERB_META_SET;
    observe(b, s, r);
    if (r->flags & REQUEST_BINARY) {
        char *p = batch_reply_begin(b, s->slot);
        if (p) {
            batch_reply_end(b, binary_stored(&b->sv, r, status, NULL, p));
        }
        s->swallow_bytes = request_block_bytes(r) - got;
        return;
    }
    if (observed(&b->sv, EVENT_MUTATIONS)) {
        observe_store(&b->sv, r, meta ? flags : NULL, status, NULL);
    }
    if (meta && store->mode != CACHE_SET) { /* the cache has removed the old item of a set */
        meta_drop(&b->sv, &r->key);
    }
    refuse(b, s, r, status == CACHE_TOO_LARGE ? reply_too_large : reply_no_memory, got);
}

/* A copy of the request whose key and text live as long as it does. NULL: out of memory. */
static struct intake *intake_of(const struct request *r, const struct cache_store *store) {
    /* what is needed of the text once the value is there */
    size_t text_bytes = r->verb == VERB_META_SET       ? r->text_bytes
                        : r->verb == VERB_BINARY_STORE ? BINARY_HEAD_BYTES
                                                       : 0;
    struct intake *in = malloc(sizeof *in + r->key.len + text_bytes + PARSE_SLACK);
    if (!in) {
        return NULL;
    }
    *in = (struct intake){.request = *r,
                          .store = *store,
                          .block_bytes = (size_t)request_block_bytes(r),
                          .line_end = {'\r', '\n'}};
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
        const char *error = meta_store_of(&b->sv, r, &flags, &store);
        if (error) {
            refuse(b, s, r, error, 0);
            return;
        }
    } else if (r->verb == VERB_BINARY_STORE) {
        binary_store_of(&b->sv, r, &store);
    } else {
        classic_store_of(&b->sv, r, &store);
    }
    struct cache_upload draft;
    enum cache_status status = cache_upload_begin(b->sv.ct, &r->key, &store, &draft);
    struct intake *in = status == CACHE_OK ? intake_of(r, &store) : NULL;
    if (!in) {
        if (status == CACHE_OK) {
            status = cache_upload_refuse(b->sv.ct, &r->key, &store, &draft);
        }
        refused(b, s, r, &flags, &store, status, 0);
        return;
    }
    if (r->verb == VERB_META_SET) {
        /* parsed once more, because its tokens must point into the copy */
        meta_flags_parse(&in->request, &in->flags);
    }
    in->draft = draft;
    s->intake = in;
}

static bool whole(const struct intake *in) { return in->got == in->block_bytes; }

static size_t room(const struct intake *in) {
    if (in->verdict != CACHE_OK) {
        return in->request.value_bytes;
    }
    return in->draft.item ? cache_upload_room(&in->draft, &in->store) : 0;
}

bool intake_waits(const struct intake *in) { return in->waits; }

/* Takes memory ahead of the bytes that have come. False: there is none, and the value is
 * refused. */
static bool reserve_ahead(struct batch *b, struct session *s) {
    struct intake *in = s->intake;
    in->waits = false;
    if (!in->judged) {
        in->judged = true;
        in->verdict = cache_store_precheck(b->sv.ct, &in->request.key, &in->store);
    }
    if (in->verdict != CACHE_OK) {
        return true;
    }
    /* others wait; one that has waited is told by its worker when to try */
    if (!in->waited && cache_upload_must_queue(b->server->cache, &in->draft)) {
        in->waits = in->waited = true;
        return true;
    }
    if (room(in) == in->request.value_bytes || room(in) >= in->got + AHEAD_BYTES) {
        return true;
    }
    switch (cache_upload_extend(b->sv.ct, &in->request.key, &in->store, &in->draft,
                                in->got + 2 * AHEAD_BYTES)) {
    case CACHE_UPLOAD_READY: return true;
    case CACHE_UPLOAD_WAITS: in->waits = in->waited = true; return true;
    case CACHE_UPLOAD_REFUSED: break;
    }
    in->refused = true;
    return false;
}

bool intake_ended(const struct intake *in) { return in->refused || whole(in); }

/* Where the bytes that are still to come may land, the line end included. */
static int pieces_of(struct batch *b, struct intake *in, struct iovec *iov, int max) {
    int n = 0;
    size_t value_bytes = in->request.value_bytes, reached = in->got;
    if (reached < value_bytes && in->verdict != CACHE_OK) {
        size_t left = value_bytes - reached;
        iov[n++] = (struct iovec){b->bin, left < BIN_BYTES ? left : BIN_BYTES};
        reached += iov[0].iov_len;
    } else if (reached < value_bytes) {
        n = cache_upload_iov(b->sv.ct, &in->draft, reached, &in->place, iov, max);
        for (int i = 0; i < n; i++) {
            reached += iov[i].iov_len;
        }
    }
    if (reached >= value_bytes && reached < in->block_bytes && n < max) {
        char *rest = in->line_end + (reached - value_bytes);
        iov[n++] = (struct iovec){rest, in->block_bytes - reached};
    }
    return n;
}

size_t intake_take(struct batch *b, struct session *s, const char *bytes, size_t n) {
    struct intake *in = s->intake;
    size_t taken = 0;
    if (in->got == 0 && n < FIRST_BYTES) {
        return 0;
    }
    if (!in->draft.item) {
        in->draft.immediate = n >= in->block_bytes;
    }
    if (!reserve_ahead(b, s) || intake_waits(in)) {
        return 0;
    }
    while (taken < n && !whole(in)) {
        struct iovec iov[16];
        int pieces = pieces_of(b, in, iov, 16);
        for (int i = 0; i < pieces && taken < n; i++) {
            size_t step = iov[i].iov_len < n - taken ? iov[i].iov_len : n - taken;
            sanitize_ignore_writes_begin();
            memcpy(iov[i].iov_base, bytes + taken, step);
            sanitize_ignore_writes_end();
            taken += step;
            in->got += step;
        }
        if (!reserve_ahead(b, s)) {
            return taken;
        }
    }
    return taken;
}

void intake_finish(struct batch *b, struct session *s) {
    struct intake *in = s->intake;
    const struct request *r = &in->request;
    s->intake = NULL;
    in->request.slot = s->slot;
    if (in->refused) {
        refused(b, s, r, &in->flags, &in->store, CACHE_NO_MEMORY, in->got);
        free(in);
        return;
    }
    bool good = in->line_end[0] == '\r' && in->line_end[1] == '\n';
    struct cache_view view = {0};
    enum cache_status status = CACHE_OK;
    if (good) {
        observe(b, s, r);
        status = in->verdict != CACHE_OK
                     ? in->verdict
                     : cache_upload_publish(b->sv.ct, &in->draft, &in->store, &view);
    } else {
        cache_upload_abandon(b->sv.ct, &in->draft);
        if (in->verdict == CACHE_OK) { /* otherwise it was counted when it was refused */
            cache_store_bad_terminator(b->sv.ct, &r->key, &in->store);
        }
    }
    char *p = batch_reply_begin(b, s->slot);
    if (p && !good) {
        p = r->flags & REQUEST_NOREPLY ? p : PUT(p, reply_bad_data);
    } else if (p && r->verb == VERB_META_SET) {
        p = meta_stored(&b->sv, r, &in->flags, status, &view, p);
    } else if (p && r->verb == VERB_BINARY_STORE) {
        p = binary_stored(&b->sv, r, status, &view, p);
    } else if (p) {
        p = classic_stored(&b->sv, r, status, &view, p);
    }
    if (p) {
        batch_reply_end(b, p);
    }
    free(in);
}

void intake_abandon(struct cache_thread *ct, struct session *s) {
    cache_upload_abandon(ct, &s->intake->draft);
    free(s->intake);
    s->intake = NULL;
}

/* --- what net asks of a value that is coming --- */

bool session_holds_draft(const struct session *s) { return s->intake && s->intake->draft.item; }

const struct cache_upload *session_draft(const struct session *s) {
    return s->intake ? &s->intake->draft : NULL;
}

bool session_value_arrived(struct session *s) {
    bool is_new = s->intake && !s->intake->draft.item && !s->intake->draft.arrived;
    if (is_new) {
        s->intake->draft.arrived = true;
    }
    return is_new;
}

size_t session_value_left(const struct session *s) {
    return s->intake ? s->intake->block_bytes - s->intake->got : 0;
}

void session_value_late(struct session *s, struct batch *b) {
    struct intake *in = s->intake;
    if (in && !in->refused) {
        in->refused = true;
        cache_upload_overdue(b->sv.ct, &in->request.key, &in->store, &in->draft);
    }
}

int session_value_iov(struct session *s, struct batch *b, struct iovec *iov, int max) {
    if (s->swallow_bytes > 0) {
        iov[0] = (struct iovec){b->bin, s->swallow_bytes < BIN_BYTES ? (size_t)s->swallow_bytes
                                                                     : BIN_BYTES};
        return 1;
    }
    return s->intake ? pieces_of(b, s->intake, iov, max) : 0;
}

void session_value_got(struct session *s, size_t n) {
    if (s->swallow_bytes > 0) {
        s->swallow_bytes -= n;
        s->need = s->swallow_bytes ? SESSION_NEED_VALUE : SESSION_NEED_BYTES;
    } else if (s->intake) {
        s->intake->got += n;
        s->need = whole(s->intake) ? SESSION_NEED_TURN : SESSION_NEED_VALUE;
    }
}
