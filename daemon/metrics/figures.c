#include "metrics/figures.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/cache.h"
#include "proto/parse.h"
#include "serve/session/session.h"

enum { PIECES = 16, LINE_BYTES = 64 };

struct figures {
    struct cache_thread  *ct;
    struct batch         *batch;
    struct session       *session;
    struct serve_counters counters; /* of nobody's statistics: they are for what clients ask */
    int                   wake_fd;
};

static void wake(void *arg) {
    const struct figures *f = arg;
    const uint64_t one = 1;
    if (write(f->wake_fd, &one, sizeof one) < 0) {
        return; /* it is full of wake-ups */
    }
}

struct figures *figures_create(struct server *server) {
    struct figures *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    f->ct = cache_thread_create(server->cache);
    f->batch = f->ct != NULL ? batch_create(server, f->ct, &f->counters) : NULL;
    f->session = session_create();
    if (f->wake_fd < 0 || f->batch == NULL || f->session == NULL) {
        figures_destroy(&f);
        return NULL;
    }
    batch_on_event(f->batch, wake, f);
    session_set_access(f->session, &(struct session_access){.role = ROLE_READ,
                                                            .most = ROLE_READ,
                                                            .protocol = LISTEN_PROTOCOL_TEXT});
    return f;
}

void figures_destroy(struct figures **taken) {
    struct figures *f = *taken;
    *taken = NULL;
    if (f == NULL) {
        return;
    }
    if (f->session != NULL && f->batch != NULL) {
        cache_turn_begin(f->ct);
        session_destroy(&f->session, f->batch);
        cache_turn_end(f->ct);
    }
    batch_destroy(&f->batch);
    cache_thread_destroy(&f->ct);
    if (f->wake_fd >= 0) {
        close(f->wake_fd);
    }
    free(f);
}

static void take_output(struct figures *f, struct text_out *to) {
    struct output *out = batch_output(f->batch, f->session);
    while (out != NULL && output_bytes(out) > 0) {
        struct iovec iov[PIECES];
        size_t taken = 0;
        int    pieces = output_iov(out, iov, PIECES);
        for (int i = 0; i < pieces; i++) {
            text_out_bytes(to, iov[i].iov_base, iov[i].iov_len);
            taken += iov[i].iov_len;
        }
        output_sent(out, taken);
    }
}

/* One turn, as a worker's. Returns how many of the bytes were used. */
static size_t take_turn(struct figures *f, char *bytes, size_t n, struct text_out *to) {
    cache_turn_begin(f->ct);
    batch_begin(f->batch);
    size_t used = batch_add(f->batch, f->session, bytes, n);
    batch_run(f->batch);
    take_output(f, to);
    cache_turn_end(f->ct);
    return used;
}

/* Another thread makes the answer. */
static void await_event(const struct figures *f, uint64_t until_us) {
    struct pollfd at = {.fd = f->wake_fd, .events = POLLIN};
    uint64_t now_us = clock_mono_us(), count;
    int wait_ms = now_us < until_us ? (int)((until_us - now_us) / 1000) + 1 : 0;
    if (poll(&at, 1, wait_ms) > 0 && read(f->wake_fd, &count, sizeof count) < 0) {
        return; /* somebody read it; the session tells */
    }
}

bool figures_ask(struct figures *f, const char *group, struct text_out *to) {
    char   line[LINE_BYTES + PARSE_SLACK] = "";
    size_t n = (size_t)snprintf(line, LINE_BYTES, "stats%s%s\r\n", *group ? " " : "", group);
    size_t used = 0, most = to->used + FIGURES_BYTES_MOST;
    const uint64_t until_us = clock_mono_us() + FIGURES_TIMEOUT_US;
    while (n < LINE_BYTES && clock_mono_us() < until_us && to->used <= most && !to->failed) {
        used += take_turn(f, line + used, n - used, to);
        switch (session_need(f->session)) {
        case SESSION_NEED_BYTES:
            if (used == n) {
                return true;
            }
            break;
        case SESSION_NEED_TURN:
        case SESSION_NEED_COMMAND:
            break;
        case SESSION_NEED_EVENT:
            await_event(f, until_us);
            break;
        case SESSION_NEED_VALUE:
        case SESSION_NEED_MEMORY:
        case SESSION_NEED_ROOM:
        case SESSION_CLOSE:
        case SESSION_WATCHES:
            return false;
        }
    }
    return false;
}
