/* A connection's protocol state between turns. The batch runs its requests. */
#include <stdlib.h>

#include "server/auth/cyrus.h"
#include "server/session/session_internal.h"

struct session *session_create(void) {
    struct session *s = calloc(1, sizeof *s);
    if (s) {
        s->fd = -1;
        s->addr = "-";
        s->role = ROLE_ADMIN;
    }
    return s;
}

void session_destroy(struct session **taken, struct batch *b) {
    struct session *s = *taken;
    *taken = NULL;
    if (!s) {
        return;
    }
    if (s->upload) {
        session_upload_abandon(b->sv.ct, s);
    }
    if (s->more) {
        s->more->destroy(s->more);
    }
    watcher_close(&s->watcher);
    cyrus_destroy(&s->dialogue);
    free(s->user);
    if (s->turn == b->turn && s->slot < b->slot_count && b->slots[s->slot].session == s) {
        b->slots[s->slot].session = NULL;
    }
    free(s);
}

enum session_need session_need(const struct session *s) { return (enum session_need)s->need; }

void session_set_slow_reader(struct session *s, bool slow_reader) { s->slow_reader = slow_reader; }

bool session_is_slow_reader(const struct session *s) { return s->slow_reader; }

void session_set_client(struct session *s, int fd, const char *addr) {
    s->fd = fd;
    s->addr = addr;
}

void session_set_access(struct session *s, const struct session_access *access) {
    s->role = access->must_log_in ? ROLE_NONE : access->role;
    s->role_default = access->role;
    s->role_most = access->most;
    s->protocol = (uint8_t)access->protocol;
}

bool session_watch(struct session *s, int fd) { return watcher_attach(s->watcher, fd); }

bool session_waits_for_value(const struct session *s, const char *bytes, size_t n) {
    return parse_waits_for_block(&s->parser, bytes, n);
}

bool session_ends_with_client(const struct session *s) {
    return s->more != NULL && s->more->ends_with_client;
}

bool session_answer_continues(const struct session *s) { return s->more != NULL; }

bool session_client_quit(const struct session *s) { return s->quit; }
