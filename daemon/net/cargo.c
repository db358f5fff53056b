/* Connections on their way to another process. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/image.h"
#include "base/log.h"
#include "net/state.h"

struct conn_image {
    char     addr[sizeof((struct conn_record *)0)->addr];
    char     listen_addr[sizeof((struct conn_record *)0)->listen_addr];
    uint32_t last_cmd_s;
    uint32_t kept_bytes; /* bytes that were received and not used */
    bool     goes_on;    /* there is something to run without new bytes */
};

uint64_t cargo_layout(void) {
    return cache_image_layout() ^ (uint64_t)sizeof(struct conn_image) << 32 ^
           (uint64_t)sizeof(struct cache_held) << 48 ^ session_image_bytes();
}

/* Whether the connection can never go: its keys, or what it waits for, are in this process. */
static bool must_stay(const struct conn *c) {
    return c->ignored || c->gone || c->tls != NULL || c->tls_mode != LISTEN_TLS_NONE;
}

static bool may_go(const struct conn *c) {
    return !must_stay(c) && c->value != VALUE_WAITS && c->pending == NULL &&
           session_may_go(c->session);
}

unsigned cargo_busy(struct net *net) {
    unsigned busy = 0;
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_take_inbox(&net->workers[i]);
        for (const struct conn *c = net->workers[i].conns; c != NULL; c = c->next) {
            busy += !must_stay(c) && !may_go(c);
        }
    }
    return busy;
}

unsigned cargo_count(const struct net *net) {
    unsigned count = 0;
    for (unsigned i = 0; i < net->worker_count; i++) {
        for (const struct conn *c = net->workers[i].conns; c != NULL; c = c->next) {
            count += may_go(c);
        }
    }
    return count;
}

static void put_conn(struct image *to, const struct conn *c) {
    struct conn_image i = {
        .last_cmd_s = atomic_load_explicit(&c->record.last_cmd_s, memory_order_relaxed),
        .kept_bytes = c->kept != NULL ? (uint32_t)c->kept->n : 0,
        .goes_on = c->resume || c->kept != NULL,
    };
    memcpy(i.addr, c->record.addr, sizeof i.addr);
    memcpy(i.listen_addr, c->record.listen_addr, sizeof i.listen_addr);
    image_put(to, &i, sizeof i);
    image_put(to, c->kept != NULL ? c->kept->bytes : "", i.kept_bytes);
    session_put(to, c->session);
}

void cargo_put(struct image *to, const struct net *net, int *fds) {
    for (unsigned i = 0; i < net->worker_count; i++) {
        for (const struct conn *c = net->workers[i].conns; c != NULL; c = c->next) {
            if (may_go(c)) {
                put_conn(to, c);
                *fds++ = c->record.fd;
            }
        }
    }
}

/* --- what those hold that stay --- */

/* Puts the connection into the image; without an image it only counts it. */
static unsigned put_held(struct image *to, const struct cache *cache, enum cache_held_kind kind,
                         const struct item *it) {
    if (to != NULL) {
        struct cache_held held = cache_held(cache, kind, it);
        image_put(to, &held, sizeof held);
    }
    return 1;
}

static unsigned put_held_of(struct image *to, const struct cache *cache, const struct conn *c) {
    unsigned count = 0;
    const struct item *it;
    if (session_holds_draft(c->session)) {
        count += put_held(to, cache, CACHE_HELD_DRAFT, session_draft(c->session)->item);
    }
    for (unsigned i = 0; c->pending != NULL && (it = output_borrowed(c->pending, i)) != NULL; i++) {
        count += put_held(to, cache, CACHE_HELD_BORROWED, it);
    }
    return count;
}

static unsigned put_all_held(struct image *to, const struct net *net) {
    unsigned count = 0;
    for (unsigned i = 0; i < net->worker_count; i++) {
        for (const struct conn *c = net->workers[i].conns; c != NULL; c = c->next) {
            count += may_go(c) ? 0 : put_held_of(to, net->server->cache, c);
        }
    }
    return count;
}

void cargo_put_held(struct image *to, const struct net *net) {
    image_put_u64(to, put_all_held(NULL, net));
    put_all_held(to, net);
}

bool cargo_get_held(struct image *from, struct held_list *list) {
    uint64_t count = image_take_u64(from);
    size_t bytes = (size_t)count * sizeof *list->each;
    const void *each = count <= UINT32_MAX ? image_part(from, bytes) : NULL;
    list->each = each != NULL ? malloc(bytes + 1) : NULL;
    list->count = list->each != NULL ? (unsigned)count : 0;
    if (list->each != NULL) {
        memcpy(list->each, each, bytes);
    }
    return list->each != NULL;
}

/* --- get --- */

static const struct listener *listener_at(const struct net *net, const char *addr) {
    const struct listener *l = net->listeners;
    while (l != NULL && strcmp(l->record.addr, addr) != 0) {
        l = l->next;
    }
    return l;
}

/* Reads a connection's part behind its head. With `c` NULL it only passes over it. */
static bool get_rest(struct image *from, struct conn *c, const struct conn_image *i,
                     struct server *server, struct session *nobody) {
    const char *bytes = image_part(from, i->kept_bytes);
    if (bytes == NULL) {
        return false;
    }
    bool welcome = session_get(from, c != NULL ? c->session : nobody, server);
    if (c == NULL) {
        return true;
    }
    if (welcome && i->kept_bytes > 0) {
        c->kept = buffers_take(&c->worker->buffers, i->kept_bytes);
        welcome = c->kept != NULL;
    }
    if (c->kept != NULL) {
        memcpy(c->kept->bytes, bytes, i->kept_bytes);
        c->kept->n = i->kept_bytes;
    }
    c->gone = !welcome;
    c->resume = i->goes_on;
    if (c->gone || c->resume) {
        worker_ready(c->worker, c);
    }
    return true;
}

static struct conn *make_conn(struct net *net, const struct conn_image *i, int fd) {
    const struct listener *l = listener_at(net, i->listen_addr);
    struct conn *c = l != NULL && net_tls_mode(net, l) == LISTEN_TLS_NONE ? calloc(1, sizeof *c)
                                                                         : NULL;
    if (c == NULL) { /* no process listens there any more, or plain text is not spoken */
        close(fd);
        return NULL;
    }
    c->record.fd = fd;
    c->tls_mode = LISTEN_TLS_NONE;
    c->access = net_access_of(net, l->is_local, l->role, l->protocol);
    memcpy(c->record.addr, i->addr, sizeof c->record.addr);
    memcpy(c->record.listen_addr, i->listen_addr, sizeof c->record.listen_addr);
    c->record.addr[sizeof c->record.addr - 1] = '\0';
    c->record.listen_addr[sizeof c->record.listen_addr - 1] = '\0';
    atomic_store_explicit(&c->record.state, "conn_new_cmd", memory_order_relaxed);
    atomic_store_explicit(&c->record.last_cmd_s, i->last_cmd_s, memory_order_relaxed);
    net_note_conn(net, c);
    struct worker *w = &net->workers[net->next_worker];
    net->next_worker = (net->next_worker + 1) % net->worker_count;
    return worker_own(w, c) ? c : NULL;
}

bool cargo_get(struct image *from, struct net *net, const int *taken_fds, unsigned count) {
    struct session *nobody = session_create();
    unsigned got = 0;
    bool whole = nobody != NULL;
    for (; got < count && whole; got++) {
        struct conn_image i;
        if (!image_take(from, &i, sizeof i)) {
            break;
        }
        i.addr[sizeof i.addr - 1] = i.listen_addr[sizeof i.listen_addr - 1] = '\0';
        struct conn *c = taken_fds != NULL ? make_conn(net, &i, taken_fds[got]) : NULL;
        whole = get_rest(from, c, &i, net->server, nobody);
    }
    whole = whole && got == count && !from->failed;
    for (; taken_fds != NULL && got < count; got++) {
        close(taken_fds[got]);
    }
    if (nobody != NULL) {
        session_destroy(&nobody, net->workers[0].batch);
    }
    return whole;
}
