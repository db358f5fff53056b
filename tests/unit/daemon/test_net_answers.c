/* Long replies beside requests of other clients, and beside later requests of the same client. The test inspects the worker while the
 * worker rests. */
#include "tap.h"

#include "own_clock.h"

#include "net/udp/udp.h"
#include "net_fixture.h"

enum { ITEMS = 10000, REST_US = 900 * 1000 };
static const char dump[] = "lru_crawler metadump all\r\n", after_dump[] = "END\r\n";

struct scene {
    struct host    h;
    struct worker *w; /* the only one */
    int            fd;
    char           last[sizeof after_dump - 1]; /* the last bytes that the client received */
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
}

static void close_scene(struct scene *s) {
    close(s->fd);
    host_stop(&s->h, false);
    host_close(&s->h);
}

/* Reads available bytes, or waits for some. Returns whether the last bytes received are `end`. */
static bool read_on(struct scene *s, int how, const char *end) {
    static char bytes[1 << 16];
    for (ssize_t n; memcmp(s->last, end, sizeof s->last) != 0 && (n = recv(s->fd, bytes, sizeof bytes, how)) > 0;) {
        size_t have = (size_t)n < sizeof s->last ? (size_t)n : sizeof s->last;
        memmove(s->last, s->last + have, sizeof s->last - have);
        memcpy(s->last + sizeof s->last - have, bytes + (size_t)n - have, have);
    }
    return memcmp(s->last, end, sizeof s->last) == 0;
}

/* Requests a dump, and holds the worker while the reply waits for its next piece. */
static void rest_amid_dump(struct scene *s) {
    worker_rest(s->w, 0);
    say(s->fd, dump, sizeof dump - 1);
    while (s->w->answers.first == NULL) {
        worker_rest(s->w, 1);
        read_on(s, MSG_DONTWAIT, after_dump);
    }
}

static void test_udp_requests_beside_a_dump(void) {
    static const char datagram[] = "\0\1\0\0\0\1\0\0version\r\n";
    struct scene s = {0};
    open_scene(&s);
    struct sockaddr_storage at;
    socklen_t at_bytes = sizeof at;
    char reply[64];
    getsockname(s.h.net->udp->record.fd, (struct sockaddr *)&at, &at_bytes);
    int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    rest_amid_dump(&s);
    s.w->interactive_until_us = 0;
    ssize_t sent = sendto(fd, datagram, sizeof datagram - 1, 0, (struct sockaddr *)&at, at_bytes);
    loop_go_on();
    ok(sent == sizeof datagram - 1 && tap_readable(fd) && recv(fd, reply, sizeof reply, 0) > 8,
       "a request by UDP amid a dump is answered");
    worker_rest(s.w, 0);
    ok(s.w->interactive_until_us != 0, "and long answers rest because of it");
    loop_go_on();
    close(fd);
    close_scene(&s);
}

static void test_bytes_behind_a_dump_wake_nobody(void) {
    struct scene s = {0};
    open_scene(&s);
    rest_amid_dump(&s);
    struct conn *c = s.w->answers.first;
    s.w->answers_due_us = clock_mono_us() + REST_US;
    ok(say(s.fd, "mn\r\n", 4) && tap_readable(c->record.fd), "a client sends a request behind its dump, while the dump rests");
    worker_rest(s.w, 1);
    ok(s.w->answers.first == c && !event_pending(&c->event, EV_READ, NULL), "its bytes do not wake the worker again and again");
    loop_go_on();
    host_pass(&s.h, REST_US);
    ok(read_on(&s, 0, "\nMN\r\n"), "and are answered when the dump has ended");
    close_scene(&s);
}

int main(void) {
    test_udp_requests_beside_a_dump();
    test_bytes_behind_a_dump_wake_nobody();
    return tap_done();
}
