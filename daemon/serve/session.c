/* A connection's protocol state between turns. Its work is done by the batch it is added to. */
#include <stdlib.h>

#include "serve/batch.h"
#include "serve/commands.h"

struct session *session_create(void) {
    struct session *s = calloc(1, sizeof *s);
    if (s) {
        s->fd = -1;
    }
    return s;
}

void session_destroy(struct session **taken, struct batch *b) {
    struct session *s = *taken;
    *taken = NULL;
    if (!s) {
        return;
    }
    if (s->intake) {
        intake_abandon(b->ct, s);
    }
    if (s->more) {
        s->more->destroy(s->more);
    }
    watcher_close(&s->watcher);
    if (s->turn == b->turn && s->slot < b->slot_count && b->slots[s->slot].session == s) {
        b->slots[s->slot].session = NULL;
    }
    free(s);
}

enum session_need session_need(const struct session *s) { return (enum session_need)s->need; }

void session_set_lags(struct session *s, bool lags) { s->lags = lags; }

bool session_lags(const struct session *s) { return s->lags; }

int session_fd(const struct session *s) { return s ? s->fd : -1; }

void session_set_fd(struct session *s, int fd) { s->fd = fd; }

bool session_watch(struct session *s) { return watcher_attach(s->watcher, s->fd); }

bool session_holds_draft(const struct session *s) { return s->intake && s->intake->draft.item; }

size_t session_value_held(const struct session *s) {
    return session_holds_draft(s) ? cache_draft_room(&s->intake->draft, &s->intake->store) : 0;
}

size_t session_value_left(const struct session *s) {
    return s->intake ? (size_t)s->intake->request.value_bytes + 2 - s->intake->got : 0;
}

void session_value_late(struct session *s, struct batch *b) {
    if (s->intake) {
        intake_late(b, s);
    }
}

bool session_quit(const struct session *s) { return s->quit; }

int session_value_iov(struct session *s, struct batch *b, struct iovec *iov, int max) {
    if (s->swallow_bytes > 0) {
        iov[0] = (struct iovec){b->bin, s->swallow_bytes < BIN_BYTES ? (size_t)s->swallow_bytes
                                                                     : BIN_BYTES};
        return 1;
    }
    struct intake *in = s->intake;
    if (!in) {
        return 0;
    }
    int n = 0;
    size_t value_bytes = in->request.value_bytes, reached = in->got;
    if (reached < value_bytes && in->verdict != CACHE_OK) {
        size_t left = value_bytes - reached;
        iov[n++] = (struct iovec){b->bin, left < BIN_BYTES ? left : BIN_BYTES};
        reached += iov[0].iov_len;
    } else if (reached < value_bytes) {
        n = cache_draft_iov(b->ct, &in->draft, reached, &in->place, iov, max);
        for (int i = 0; i < n; i++) {
            reached += iov[i].iov_len;
        }
    }
    if (reached >= value_bytes && n < max) {
        size_t have = reached - value_bytes;
        iov[n++] = (struct iovec){in->line_end + have, 2 - have};
    }
    return n;
}

void session_value_got(struct session *s, size_t n) {
    if (s->swallow_bytes > 0) {
        s->swallow_bytes -= n;
        s->need = s->swallow_bytes ? SESSION_NEED_VALUE : SESSION_NEED_BYTES;
    } else if (s->intake) {
        s->intake->got += n;
        s->need = intake_whole(s->intake) ? SESSION_NEED_TURN : SESSION_NEED_VALUE;
    }
}
