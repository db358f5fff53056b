/* Receives values that are too large to wait in the connection's buffer. While bytes come, memory
 * is taken a little ahead, and the bytes go straight into item memory. The last byte publishes the
 * item. */
#include <stdlib.h>

#include "base/sanitize.h"
#include "protocol/binary.h"
#include "server/session/session_internal.h"
#include "server/verbs/observe.h"

enum {
    /* memory is taken so far ahead of the received bytes: more than one receive brings, and little
     * compared to a page */
    AHEAD_BYTES = 64 * 1024,
    /* no memory is taken before so many bytes have come: they wait in the connection's buffer, as
     * small values do */
    FIRST_BYTES = ITEM_COPY_MAX,
};

/* Replies an error instead of storing, and drops the rest of the data block. */
static void upload_refuse(struct batch *b, struct session *s, const struct request *r,
                          const char *text, size_t received_bytes) {
    char *p = batch_reply_begin(b, s->slot);
    if (p) {
        batch_reply_end(b, r->flags & REQUEST_NOREPLY ? p : put_text(p, text));
    }
    s->swallow_bytes = request_block_bytes(r) - received_bytes;
}

/* Reports the result of the lookup to clients that watch. */
static void upload_observe(struct batch *b, const struct session *s, const struct request *r) {
    if (observed(&b->sv, ~0u)) {
        b->sv.fd = s->fd;
        observe_begin(&b->sv, event_watched(~0u), r);
        observe_lookup(&b->sv, r);
    }
}

/* Replies that the cache has refused the store. */
static void upload_refuse_status(struct batch *b, struct session *s, const struct request *r,
                                 const struct meta_flags *flags, const struct cache_store *store,
                                 enum cache_status status, size_t received_bytes) {
    bool meta = r->verb == VERB_META_SET;
    upload_observe(b, s, r);
    if (r->flags & REQUEST_BINARY) {
        char *p = batch_reply_begin(b, s->slot);
        if (p) {
            batch_reply_end(b, binary_stored(&b->sv, r, status, NULL, p));
        }
        s->swallow_bytes = request_block_bytes(r) - received_bytes;
        return;
    }
    if (observed(&b->sv, EVENT_MUTATIONS)) {
        observe_store(&b->sv, r, meta ? flags : NULL, status, NULL);
    }
    if (meta && store->mode != CACHE_SET) { /* the cache has removed the old item of a set */
        meta_drop(&b->sv, &r->key);
    }
    upload_refuse(b, s, r, status == CACHE_TOO_LARGE ? reply_too_large : reply_no_memory,
                  received_bytes);
}

/* Returns an upload with copies of the request, its key and its text. NULL: out of memory. */
static struct session_upload *upload_create(const struct request *r,
                                            const struct cache_store *store) {
    /* the part of the text that the store will need */
    size_t text_bytes = r->verb == VERB_META_SET       ? r->text_bytes
                        : r->verb == VERB_BINARY_STORE ? BINARY_HEAD_BYTES
                                                       : 0;
    struct session_upload *in = malloc(sizeof *in + r->key.len + text_bytes + PARSE_SLACK);
    if (!in) {
        return NULL;
    }
    *in = (struct session_upload){.request = *r,
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

void session_upload_begin(struct batch *b, struct session *s, const struct request *r) {
    struct cache_store store;
    struct meta_flags flags;
    if (r->verb == VERB_META_SET) {
        const char *error = meta_store_of(&b->sv, r, &flags, &store);
        if (error) {
            upload_refuse(b, s, r, error, 0);
            return;
        }
    } else if (r->verb == VERB_BINARY_STORE) {
        binary_store_of(&b->sv, r, &store);
    } else {
        classic_store_of(&b->sv, r, &store);
    }
    struct cache_upload cache_upload;
    enum cache_status status = cache_upload_begin(b->sv.ct, &r->key, &store, &cache_upload);
    struct session_upload *in = status == CACHE_OK ? upload_create(r, &store) : NULL;
    if (!in) {
        if (status == CACHE_OK) {
            status = cache_upload_refuse(b->sv.ct, &r->key, &store, &cache_upload);
        }
        upload_refuse_status(b, s, r, &flags, &store, status, 0);
        return;
    }
    if (r->verb == VERB_META_SET) {
        /* parsed once more, because its tokens must point into the copy */
        meta_flags_parse(&in->request, &in->flags);
    }
    in->cache_upload = cache_upload;
    s->upload = in;
}

static bool upload_is_complete(const struct session_upload *in) {
    return in->received_bytes == in->block_bytes;
}

static size_t upload_room_bytes(const struct session_upload *in) {
    if (in->precheck != CACHE_OK) {
        return in->request.value_bytes;
    }
    return in->cache_upload.item ? cache_upload_room(&in->cache_upload, &in->store) : 0;
}

/* Takes memory ahead of the received bytes. False: there is no memory, and the value is refused. */
static bool upload_reserve_ahead(struct batch *b, struct session *s) {
    struct session_upload *in = s->upload;
    in->waits = false;
    if (!in->precheck_done) {
        in->precheck_done = true;
        in->precheck = cache_store_precheck(b->sv.ct, &in->request.key, &in->store);
    }
    if (in->precheck != CACHE_OK) {
        return true;
    }
    /* other values wait; the worker resumes a value that has waited */
    if (!in->waited && cache_upload_must_queue(b->server->cache, &in->cache_upload)) {
        in->waits = in->waited = true;
        return true;
    }
    if (upload_room_bytes(in) == in->request.value_bytes ||
        upload_room_bytes(in) >= in->received_bytes + AHEAD_BYTES) {
        return true;
    }
    switch (cache_upload_extend(b->sv.ct, &in->request.key, &in->store, &in->cache_upload,
                               in->received_bytes + 2 * AHEAD_BYTES)) {
    case CACHE_UPLOAD_READY: return true;
    case CACHE_UPLOAD_WAITS: in->waits = in->waited = true; return true;
    case CACHE_UPLOAD_REFUSED: break;
    }
    in->refused = true;
    return false;
}

bool session_upload_ended(const struct session_upload *in) {
    return in->refused || upload_is_complete(in);
}

/* Returns where the bytes that are still to come may go, with the line end. */
static int upload_iov(struct batch *b, struct session_upload *in, struct iovec *iov, int max) {
    int n = 0;
    size_t value_bytes = in->request.value_bytes, reached = in->received_bytes;
    if (reached < value_bytes && in->precheck != CACHE_OK) {
        size_t left = value_bytes - reached;
        iov[n++] = (struct iovec){b->bin, left < BIN_BYTES ? left : BIN_BYTES};
        reached += iov[0].iov_len;
    } else if (reached < value_bytes) {
        n = cache_upload_iov(b->sv.ct, &in->cache_upload, reached, &in->place, iov, max);
        for (int i = 0; i < n; i++) {
            reached += iov[i].iov_len;
        }
    }
    if (reached >= value_bytes && reached < in->block_bytes && n < max) {
        char *line_end_left = in->line_end + (reached - value_bytes);
        iov[n++] = (struct iovec){line_end_left, in->block_bytes - reached};
    }
    return n;
}

size_t session_upload_take(struct batch *b, struct session *s, const char *bytes, size_t n) {
    struct session_upload *in = s->upload;
    size_t taken = 0;
    if (in->received_bytes == 0 && n < FIRST_BYTES) {
        return 0;
    }
    if (!in->cache_upload.item) {
        in->cache_upload.immediate = n >= in->block_bytes;
    }
    if (!upload_reserve_ahead(b, s) || in->waits) {
        return 0;
    }
    while (taken < n && !upload_is_complete(in)) {
        struct iovec iov[16];
        int pieces = upload_iov(b, in, iov, 16);
        for (int i = 0; i < pieces && taken < n; i++) {
            size_t step = iov[i].iov_len < n - taken ? iov[i].iov_len : n - taken;
            sanitize_ignore_writes_begin();
            memcpy(iov[i].iov_base, bytes + taken, step);
            sanitize_ignore_writes_end();
            taken += step;
            in->received_bytes += step;
        }
        if (!upload_reserve_ahead(b, s)) {
            return taken;
        }
    }
    return taken;
}

void session_upload_finish(struct batch *b, struct session *s) {
    struct session_upload *in = s->upload;
    const struct request *r = &in->request;
    s->upload = NULL;
    in->request.slot = s->slot;
    if (in->refused) {
        upload_refuse_status(b, s, r, &in->flags, &in->store, CACHE_NO_MEMORY, in->received_bytes);
        free(in);
        return;
    }
    bool is_terminated = in->line_end[0] == '\r' && in->line_end[1] == '\n';
    struct cache_view view = {0};
    enum cache_status status = CACHE_OK;
    if (is_terminated) {
        upload_observe(b, s, r);
        status = in->precheck != CACHE_OK
                     ? in->precheck
                     : cache_upload_publish(b->sv.ct, &in->cache_upload, &in->store, &view);
    } else {
        cache_upload_abandon(b->sv.ct, &in->cache_upload);
        if (in->precheck == CACHE_OK) { /* else the precheck has counted the refusal */
            cache_store_bad_terminator(b->sv.ct, &r->key, &in->store);
        }
    }
    char *p = batch_reply_begin(b, s->slot);
    if (p && !is_terminated) {
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

void session_upload_abandon(struct cache_thread *ct, struct session *s) {
    cache_upload_abandon(ct, &s->upload->cache_upload);
    free(s->upload);
    s->upload = NULL;
}

/* --- for net: the value that is coming --- */

bool session_value_holds_memory(const struct session *s) {
    return s->upload && s->upload->cache_upload.item;
}

const struct cache_upload *session_value_upload(const struct session *s) {
    return s->upload ? &s->upload->cache_upload : NULL;
}

bool session_value_arrived(struct session *s) {
    bool is_new = s->upload && !s->upload->cache_upload.item && !s->upload->cache_upload.arrived;
    if (is_new) {
        s->upload->cache_upload.arrived = true;
    }
    return is_new;
}

size_t session_value_left(const struct session *s) {
    return s->upload ? s->upload->block_bytes - s->upload->received_bytes : 0;
}

void session_value_time_out(struct session *s, struct batch *b) {
    struct session_upload *in = s->upload;
    if (in && !in->refused) {
        in->refused = true;
        cache_upload_overdue(b->sv.ct, &in->request.key, &in->store, &in->cache_upload);
    }
}

int session_value_iov(struct session *s, struct batch *b, struct iovec *iov, int max) {
    if (s->swallow_bytes > 0) {
        iov[0] = (struct iovec){b->bin, s->swallow_bytes < BIN_BYTES ? (size_t)s->swallow_bytes
                                                                     : BIN_BYTES};
        return 1;
    }
    return s->upload ? upload_iov(b, s->upload, iov, max) : 0;
}

void session_value_got(struct session *s, size_t n) {
    if (s->swallow_bytes > 0) {
        s->swallow_bytes -= n;
        s->need = s->swallow_bytes ? SESSION_NEED_VALUE : SESSION_NEED_BYTES;
    } else if (s->upload) {
        s->upload->received_bytes += n;
        s->need = upload_is_complete(s->upload) ? SESSION_NEED_TURN : SESSION_NEED_VALUE;
    }
}
