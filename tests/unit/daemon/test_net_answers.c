/* Long answers beside what other clients ask for, and beside what their own client sends meanwhile. The worker is looked at while
 * it rests. */
#include "tap.h"

#include "net_fixture.h"

#include <dlfcn.h>
#include <event2/event.h>

#include "net/state.h"

enum { ITEMS = 40000, REST_US = 900 * 1000 };
static const char dump[] = "lru_crawler metadump all\r\n", after_dump[] = "END\r\n";

struct scene {
    struct host    h;
    struct worker *w; /* the only one */
    int            fd;
    char           last[sizeof after_dump - 1]; /* what the client heard last */
};

static void open_scene(struct scene *s) {
    char options[] = "-m 64";
    host_prepare(&s->h, options);
    struct net_config cfg = host_config(&s->h);
    cfg.udp_port = -1;
    cfg.worker_count = 1;
    host_start(&s->h, &cfg);
    s->w = &s->h.net->workers[0];
    s->fd = connect_tcp(s->h.port);
    for (int i = 0; i < ITEMS; i++) {
        char set[48];
        int n = snprintf(set, sizeof set, "set key%d 0 0 1 noreply\r\nv\r\n", i);
        say(s->fd, set, (size_t)n);
    }
    ok(answers(s->fd, "mn\r\n", "MN\r\n"), "%d items are stored", ITEMS);
    say(s->fd, dump, sizeof dump - 1);
}

static void close_scene(struct scene *s) {
    close(s->fd);
    host_stop(&s->h, false);
    host_close(&s->h);
}

/* --- a worker that rests between two turns, because its event loop does not begin --- */

static struct {
    pthread_mutex_t    mutex;
    pthread_cond_t     changed;
    struct event_base *base; /* whose loop does not begin; NULL: none's */
    bool               rests;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* In the place of libevent's. */
int event_base_loop(struct event_base *base, int flags) {
    int (*loop)(struct event_base *, int) = (int (*)(struct event_base *, int))dlsym(RTLD_NEXT, "event_base_loop");
    pthread_mutex_lock(&gate.mutex);
    while (base == gate.base) {
        gate.rests = true;
        pthread_cond_broadcast(&gate.changed);
        pthread_cond_wait(&gate.changed, &gate.mutex);
    }
    pthread_mutex_unlock(&gate.mutex);
    return loop(base, flags);
}

static void rest(struct worker *w) {
    pthread_mutex_lock(&gate.mutex);
    gate.base = w->base;
    gate.rests = false;
    worker_wake(w);
    while (!gate.rests) {
        pthread_cond_wait(&gate.changed, &gate.mutex);
    }
    pthread_mutex_unlock(&gate.mutex);
}

static void go_on(struct worker *w) {
    pthread_mutex_lock(&gate.mutex);
    gate.base = NULL;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
    worker_wake(w);
}

/* Reads what is there. Returns whether the dump has ended by it. */
static bool read_on(struct scene *s) {
    static char bytes[1 << 16];
    for (ssize_t n; (n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
        size_t have = (size_t)n < sizeof s->last ? (size_t)n : sizeof s->last;
        memmove(s->last, s->last + have, sizeof s->last - have);
        memcpy(s->last + sizeof s->last - have, bytes + (size_t)n - have, have);
    }
    return memcmp(s->last, after_dump, sizeof s->last) == 0;
}

/* Has the worker rest while a dump waits for its next piece. */
static void rest_amid_dump(struct scene *s) {
    for (;;) {
        rest(s->w);
        if (s->w->answers.first != NULL) {
            return;
        }
        go_on(s->w);
        if (read_on(s)) {
            memset(s->last, 0, sizeof s->last);
            say(s->fd, dump, sizeof dump - 1);
        }
    }
}

static void test_udp_asks_beside_a_dump(void) {
    static const char datagram[] = "\0\1\0\0\0\1\0\0version\r\n";
    struct scene s = {0};
    open_scene(&s);
    struct sockaddr_storage at;
    socklen_t at_bytes = sizeof at;
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    char reply[64];
    getsockname(s.h.net->udp->record.fd, (struct sockaddr *)&at, &at_bytes);
    int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    rest_amid_dump(&s);
    s.w->asked_until_us = 0;
    ssize_t sent = sendto(fd, datagram, sizeof datagram - 1, 0, (struct sockaddr *)&at, at_bytes);
    go_on(s.w);
    ok(sent == sizeof datagram - 1 && recv(fd, reply, sizeof reply, 0) > 8, "a request by UDP amid a dump is answered");
    rest(s.w);
    ok(s.w->asked_until_us != 0, "and long answers rest because of it");
    go_on(s.w);
    close(fd);
    close_scene(&s);
}

/* Whether bytes behind the dump wake the worker while the dump rests; *seen: the dump did not go on meanwhile. */
static bool bytes_wake(struct scene *s, bool *seen) {
    rest_amid_dump(s);
    struct conn *c = s->w->answers.first;
    say(s->fd, "mn\r\n", 4);
    s->w->answers_due_us = clock_mono_us() + REST_US;
    go_on(s->w);
    usleep(10 * 1000);
    rest(s->w);
    *seen = s->w->answers.first == c && s->w->answers_due_us > clock_mono_us();
    bool wake = *seen && event_pending(&c->event, EV_READ, NULL);
    s->w->answers_due_us = 0;
    go_on(s->w);
    return wake;
}

/* Reads on until the request behind the dump is answered. */
static bool is_answered(struct scene *s) {
    for (int i = 0; i < PATIENCE_MS; i++) {
        read_on(s);
        if (memcmp(s->last, "\nMN\r\n", sizeof s->last) == 0) {
            return true;
        }
        usleep(1000);
    }
    return false;
}

static void test_bytes_behind_a_dump_wake_nobody(void) {
    struct scene s = {0};
    open_scene(&s);
    bool seen = false, wake = true, answered = true;
    for (int i = 0; i < 100 && wake && answered; i++) {
        wake = bytes_wake(&s, &seen) || !seen;
        answered = is_answered(&s);
        say(s.fd, dump, sizeof dump - 1);
    }
    ok(!wake, "bytes that a client sends behind its dump do not wake the worker again and again while the dump rests");
    ok(answered, "and are answered when the dump has ended");
    close_scene(&s);
}

int main(void) {
    test_udp_asks_beside_a_dump();
    test_bytes_behind_a_dump_wake_nobody();
    return tap_done();
}
