/* A server without sockets, and clients that feed bytes to sessions as net does: a buffer with unfinished requests, one turn at a time,
 * large values straight into item memory, replies sent in pieces or held for later. */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tap.h"

#include "cache_fixture.h"
#include "control/sampling/policy_auto.h"
#include "control/tuner_state.h"
#include "protocol/parse.h"
#include "server/config/options.h"
#include "server/server.h"
#include "server/session/session.h"

struct rig {
    struct settings       settings;
    struct server         server;
    struct cache_thread  *ct;
    struct serve_counters counters;
    struct batch         *batch;
    bool awkward; /* receive and send in random small pieces, keep replies, hand value bytes to batch_add at times */
    uint64_t random;
};

static inline uint32_t rig_random(struct rig *rig, uint32_t below) {
    rig->random = rig->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rig->random >> 33) % below;
}

/* Changes the configuration of the next rigs; NULL: no change. */
static void (*rig_adjust)(struct cache_config *, struct tuner_config *);

/* An eventfd, written to when the reply that a session waits for may be there. */
static int rig_woken_fd = -1;
static inline void rig_wake(void *arg) {
    (void)arg;
    eventfd_write(rig_woken_fd, 1);
}

/* `options` as on the command line, cut apart in place; NULL: none. False: bad options, or no memory. */
static inline bool rig_open(struct rig *rig, char *options) {
    char why[OPTIONS_WHY_BYTES], name[] = "slated";
    char *argv[32] = {name};
    int argc = 1;
    for (char *word = options ? strtok(options, " ") : NULL; word && argc < 31; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    memset(rig, 0, sizeof *rig);
    rig_woken_fd = rig_woken_fd < 0 ? eventfd(0, EFD_CLOEXEC) : rig_woken_fd;
    clock_start();
    settings_init(&rig->settings);
    if (options_parse(argc, argv, 0, &rig->settings, why) != OPTIONS_RUN) {
        printf("# %s\n", why);
        return false;
    }
    if (!server_init(&rig->server, &rig->settings)) {
        return false;
    }
    struct cache_config config = fixture_config(rig->settings.maxbytes);
    config.item_bytes_max = (uint32_t)rig->settings.item_size_max;
    config.store = cache_store_find(rig->settings.store);
    config.index = index_kind_find(rig->settings.index);
    config.block_bytes = (uint32_t)rig->settings.block_size;
    config.slab.chunk_bytes_min = (uint32_t)rig->settings.chunk_size + SLAB_HEADER_ROOM;
    config.slab.growth_factor = rig->settings.factor;
    config.cas = rig->settings.cas;
    config.evict = rig->settings.evict_to_free;
    config.policy = auto_policy(rig->settings.policy, NULL); /* otherwise the first `config set` would also change the policy */
    struct tuner_config tune = {
        .automove = "off", .reassign = rig->settings.slab_reassign,
        .settings = {.automove_ratio = 0.8, .automove_window_s = 10, .crawler = true, .crawler_sleep_us = 100}};
    if (rig_adjust) {
        rig_adjust(&config, &tune);
    }
    rig->server.cache = cache_create(&config);
    rig->ct = rig->server.cache ? cache_thread_create(rig->server.cache) : NULL;
    rig->server.tuner = rig->ct ? tuner_create(rig->server.cache, &tune) : NULL;
    rig->server.workers[0] = &rig->counters;
    rig->server.worker_count = 1;
    rig->batch = rig->server.tuner ? batch_create(&rig->server, rig->ct, &rig->counters) : NULL;
    if (rig->batch != NULL) {
        batch_on_event(rig->batch, rig_wake, NULL);
    }
    return rig->batch != NULL;
}

static inline void rig_close(struct rig *rig) {
    batch_destroy(&rig->batch);
    tuner_destroy(&rig->server.tuner);
    cache_thread_destroy(&rig->ct);
    cache_destroy(&rig->server.cache);
    server_fini(&rig->server);
}

struct client {
    struct session *session;
    char  *in; /* in_bytes that no request has used, followed by exactly the promised slack */
    size_t in_bytes;
    char  *out; /* every reply so far */
    size_t out_bytes, out_room;
    struct output *kept;
    bool   closed;
};

static inline void client_open(struct client *c) {
    memset(c, 0, sizeof *c);
    c->session = session_create();
    c->in = malloc(PARSE_SLACK);
}

static inline void client_close(struct rig *rig, struct client *c) {
    cache_turn_begin(rig->ct);
    output_destroy(&c->kept);
    session_destroy(&c->session, rig->batch);
    cache_turn_end(rig->ct);
    free(c->in);
    free(c->out);
}

/* A server and one client. */
static inline void rig_open_for(struct rig *rig, struct client *c, char *options) {
    rig_open(rig, options);
    client_open(c);
}

static inline void rig_close_for(struct rig *rig, struct client *c) {
    client_close(rig, c);
    rig_close(rig);
}

static inline void client_collect(struct client *c, const void *bytes, size_t n) {
    if (c->out_room - c->out_bytes < n) {
        c->out_room = (c->out_bytes + n) * 2;
        c->out = realloc(c->out, c->out_room);
    }
    if (n > 0) {
        memcpy(c->out + c->out_bytes, bytes, n);
    }
    c->out_bytes += n;
}

/* Sends at most `limit` bytes of `out`. */
static inline void client_receive(struct rig *rig, struct client *c, struct output *out, size_t limit) {
    while (limit > 0 && output_bytes(out) > 0) {
        struct iovec iov[8];
        int pieces = output_iov(out, iov, rig->awkward ? 1 + (int)rig_random(rig, 8) : 8);
        size_t sent = 0;
        for (int i = 0; i < pieces && sent < limit; i++) {
            size_t step = iov[i].iov_len < limit - sent ? iov[i].iov_len : limit - sent;
            client_collect(c, iov[i].iov_base, step);
            sent += step;
        }
        output_sent(out, sent);
        limit -= sent;
    }
}

static inline void client_take_kept(struct rig *rig, struct client *c) {
    client_receive(rig, c, c->kept, SIZE_MAX);
    output_destroy(&c->kept);
}

static inline bool out_is(const struct client *c, const char *text) {
    return c->out_bytes == strlen(text) && memcmp(c->out, text, c->out_bytes) == 0;
}

/* Gives a client `count` times the line to send, without a turn. */
static inline void client_load(struct client *c, const char *line, size_t n, int count) {
    c->in = realloc(c->in, c->in_bytes + n * (size_t)count + PARSE_SLACK);
    for (int i = 0; i < count; i++, c->in_bytes += n) {
        memcpy(c->in + c->in_bytes, line, n);
    }
    memset(c->in + c->in_bytes, '\n', PARSE_SLACK);
}

/* Runs these requests in a turn that stays open until cache_turn_end. Returns the replies, or NULL for none. */
static inline struct output *client_begin(struct rig *rig, struct client *c, const char *bytes, size_t n) {
    char *in = calloc(1, n + PARSE_SLACK);
    memcpy(in, bytes, n);
    cache_turn_begin(rig->ct);
    batch_begin(rig->batch);
    batch_add(rig->batch, c->session, in, n);
    batch_run(rig->batch);
    free(in);
    return batch_output(rig->batch, c->session);
}

static inline void client_take_output(struct rig *rig, struct client *c) {
    struct output *out = batch_output(rig->batch, c->session);
    if (c->kept) {
        client_take_kept(rig, c);
    }
    if (!out) {
        return;
    }
    if (rig->awkward && rig_random(rig, 4) == 0) {
        client_receive(rig, c, out, rig_random(rig, 100));
        c->kept = output_bytes(out) ? output_save(out, "") : NULL;
        return;
    }
    client_receive(rig, c, out, SIZE_MAX);
}

/* One turn of a worker in which `count` clients are ready. */
static inline void rig_turn(struct rig *rig, struct client **clients, size_t count) {
    cache_turn_begin(rig->ct);
    batch_begin(rig->batch);
    size_t used[64];
    for (size_t i = 0; i < count; i++) {
        used[i] = batch_add(rig->batch, clients[i]->session, clients[i]->in, clients[i]->in_bytes);
    }
    batch_run(rig->batch);
    for (size_t i = 0; i < count; i++) {
        struct client *c = clients[i];
        client_take_output(rig, c);
        c->in_bytes -= used[i];
        char *rest = malloc(c->in_bytes + PARSE_SLACK); /* moved each time, so that a stale pointer is found */
        memcpy(rest, c->in + used[i], c->in_bytes);
        memset(rest + c->in_bytes, '\n', PARSE_SLACK);
        free(c->in);
        c->in = rest;
        c->closed = session_need(c->session) == SESSION_CLOSE;
    }
    cache_turn_end(rig->ct);
}

/* Value bytes go to their final place; returns how many of the n did. */
static inline size_t client_fill_value(struct rig *rig, struct client *c, const char *bytes, size_t n) {
    struct iovec iov[4];
    size_t done = 0;
    int pieces = session_value_iov(c->session, rig->batch, iov, rig->awkward ? 1 + (int)rig_random(rig, 4) : 4);
    for (int i = 0; i < pieces && done < n; i++) {
        size_t step = iov[i].iov_len < n - done ? iov[i].iov_len : n - done;
        memcpy(iov[i].iov_base, bytes + done, step);
        done += step;
    }
    session_value_got(c->session, done);
    return done;
}

/* Whether the session has work without more bytes. */
static inline bool client_goes_on(const struct client *c) {
    switch (session_need(c->session)) {
    case SESSION_NEED_WAKE:
    case SESSION_NEED_TURN:
    case SESSION_NEED_COMMAND_TIME: return true;
    case SESSION_NEED_BYTES:
    case SESSION_NEED_VALUE:
    case SESSION_NEED_MEMORY: /* a test with one client never waits for others */
    case SESSION_NEED_ROOM:
    case SESSION_CLOSE:
    case SESSION_WATCHES: break;
    }
    return c->kept != NULL;
}

/* Whether another thread has answered, so that the session can go on. Without a control thread this function does the control thread's
 * work. */
static inline bool rig_was_woken(struct rig *rig) {
    eventfd_t wakes;
    if (rig->server.tuner->by_hand) {
        control_run_orders(&rig->server.tuner->control);
        return true;
    }
    return tap_readable(rig_woken_fd) && eventfd_read(rig_woken_fd, &wakes) == 0;
}

/* Takes turns until the session has no work without more bytes. */
static inline void client_settle(struct rig *rig, struct client *c) {
    do {
        rig_turn(rig, &c, 1);
    } while (!c->closed && client_goes_on(c) && (session_need(c->session) != SESSION_NEED_WAKE || rig_was_woken(rig)));
    if (c->kept) { /* replies from before the end are sent before the connection is closed */
        client_take_kept(rig, c);
    }
}

/* Sends n bytes in one piece, as from a socket. */
static inline void client_send(struct rig *rig, struct client *c, const char *bytes, size_t n) {
    size_t done = 0;
    cache_turn_begin(rig->ct);
    for (size_t filled = 1; !c->closed && done < n && filled > 0 && session_need(c->session) == SESSION_NEED_VALUE && c->in_bytes == 0 &&
         !(rig->awkward && rig_random(rig, 3) == 0); done += filled) {
        filled = client_fill_value(rig, c, bytes + done, n - done); /* 0: no memory yet; the session takes memory when bytes come */
    }
    cache_turn_end(rig->ct);
    if (c->closed) {
        return;
    }
    c->in = realloc(c->in, c->in_bytes + n - done + PARSE_SLACK);
    memcpy(c->in + c->in_bytes, bytes + done, n - done);
    c->in_bytes += n - done;
    memset(c->in + c->in_bytes, '\n', PARSE_SLACK);
    client_settle(rig, c);
}
#endif
