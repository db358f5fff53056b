/* stats conns: every socket, listeners too, in the order of arrival. A piece of the answer copies a
 * few records under the registry's lock and writes them without the lock, so that no new client
 * waits for the writing. */
#include <stdlib.h>

#include "base/clock.h"
#include "server/stats/stats.h"

enum { RECORDS_A_LOCK = 16 };

struct conns_reply {
    struct command_more   more; /* first: the session knows only this part */
    struct conn_registry *registry;
    struct conn_cursor    cursor;
};

/* A copy of the fields that are shown. */
struct conn_shown {
    int         fd;
    uint32_t    last_s;
    const char *state;
    char addr[sizeof((struct conn_record *)0)->addr],
        listen_addr[sizeof((struct conn_record *)0)->listen_addr];
};

static unsigned conns_copy_some(struct conns_reply *all, struct conn_shown to[RECORDS_A_LOCK]) {
    const struct conn_record *c;
    unsigned n = 0;
    lock_take(&all->registry->lock);
    while (n < RECORDS_A_LOCK && (c = conn_cursor_next_locked(&all->cursor)) != NULL) {
        struct conn_shown *s = &to[n++];
        s->fd = c->fd;
        s->last_s = atomic_load_explicit(&c->last_cmd_s, memory_order_relaxed);
        s->state = atomic_load_explicit(&c->state, memory_order_relaxed);
        memcpy(s->addr, c->addr, sizeof s->addr);
        memcpy(s->listen_addr, c->listen_addr, sizeof s->listen_addr);
    }
    lock_release(&all->registry->lock);
    return n;
}

static void put_conn(struct text_out *out, const struct conn_shown *c, uint32_t now_s) {
    text_out_printf(out, "STAT %d:addr %s\r\n", c->fd, c->addr);
    if (c->listen_addr[0]) {
        text_out_printf(out, "STAT %d:listen_addr %s\r\n", c->fd, c->listen_addr);
    }
    text_out_printf(out, "STAT %d:state %s\r\n", c->fd, c->state ? c->state : "conn_new_cmd");
    text_out_printf(out, "STAT %d:secs_since_last_cmd %u\r\n", c->fd,
                    now_s > c->last_s ? now_s - c->last_s : 0);
}

static bool conns_run(struct command_more *more, struct command_context *ctx) {
    struct conns_reply *all = (struct conns_reply *)more;
    struct conn_shown some[RECORDS_A_LOCK];
    uint32_t now_s = clock_now_s();
    do {
        unsigned n = conns_copy_some(all, some);
        for (unsigned i = 0; i < n; i++) {
            put_conn(ctx->out, &some[i], now_s);
        }
        if (n < RECORDS_A_LOCK) {
            text_out_str(ctx->out, "END\r\n");
            return false;
        }
    } while (!command_piece_full(ctx));
    return true;
}

static void conns_destroy(struct command_more *more) {
    struct conns_reply *all = (struct conns_reply *)more;
    conn_cursor_end(all->registry, &all->cursor);
    free(all);
}

void stats_conns(struct command_context *ctx) {
    struct conns_reply *all = malloc(sizeof *all);
    if (!all) {
        ctx->out->failed = true;
        return;
    }
    *all = (struct conns_reply){.more = {.run = conns_run, .destroy = conns_destroy},
                          .registry = &ctx->server->registry};
    conn_cursor_begin(all->registry, &all->cursor);
    if (conns_run(&all->more, ctx)) {
        ctx->more = &all->more;
    } else {
        conns_destroy(&all->more);
    }
}
