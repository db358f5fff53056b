#include "metrics/metrics.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "metrics/crowd.h"
#include "metrics/figures.h"
#include "metrics/http.h"
#include "metrics/page.h"
#include "net/address.h"
#include "net/listen.h"
#include "net/places.h"

enum {
    SOCKETS_MOST = NET_COMPANION_FDS,
    BACKLOG = 128,
    SEND_BYTES = 512 * 1024, /* a page goes out whole: nobody waits for who reads it slowly */
};

struct metrics {
    struct server  *server;
    pthread_t       thread;
    int             stop_fd;
    int             fds[SOCKETS_MOST];
    unsigned        count;
    pthread_mutex_t looks; /* while it looks at the server, or rests */
    bool            ends;  /* under `looks` */
    bool            rests; /* of whoever started it */
    struct figures *figures; /* the thread's; NULL: to be made anew */
    struct page    *page;    /* likewise */
    struct text_out answers[PAGE_GROUPS];
};

/* --- a page --- */

/* The text; NULL: it could not be made, which is logged. */
static const char *make_page(struct metrics *m, bool openmetrics, size_t *bytes) {
    char               why[PAGE_WHY_BYTES] = "the server's statistics did not come";
    struct page_answer answers[PAGE_GROUPS];
    const char        *text = NULL;
    bool               came = true;
    if (m->figures == NULL && (m->figures = figures_create(m->server)) == NULL) {
        log_warn("cannot tell metrics: out of memory");
        return NULL;
    }
    for (int i = 0; came && i < PAGE_GROUPS; i++) {
        text_out_clear(&m->answers[i]);
        came = figures_ask(m->figures, page_groups[i], &m->answers[i]);
        answers[i] = (struct page_answer){m->answers[i].bytes, m->answers[i].used};
    }
    if (!came) {
        figures_destroy(&m->figures);
    } else if (m->page != NULL || (m->page = page_create(why)) != NULL) {
        text = page_text(m->page, openmetrics, answers, bytes, why);
        if (text == NULL) {
            page_destroy(&m->page);
        }
    }
    if (text == NULL) {
        log_warn("cannot tell metrics: %s", why);
    }
    return text;
}

static void answer_plainly(const struct http_peer *peer, int status, const char *text) {
    http_answer(peer, status, "text/plain", text, strlen(text), false);
}

/* Answers one that has asked, or whose time to ask is over. */
static void serve_peer(struct metrics *m, int fd, uint64_t until_us) {
    char                request_bytes[METRICS_REQUEST_BYTES + 1];
    struct http_request request;
    struct http_peer    peer = {
           .fd = fd,
           .stop_fd = m->stop_fd,
           .until_us = until_us};
    int status = http_read(&peer, request_bytes, sizeof request_bytes, &request);
    peer.until_us = clock_mono_us() + METRICS_REQUEST_S * 1000 * 1000;
    if (status != 200) {
        if (status != 0) {
            answer_plainly(&peer, status, "a request of HTTP/1 is wanted, of at most 8 KiB\n");
        }
        return;
    }
    bool head = strcmp(request.method, "HEAD") == 0;
    if (!head && strcmp(request.method, "GET") != 0) {
        answer_plainly(&peer, 405, "GET is wanted\n");
    } else if (strcmp(request.path, "/metrics") != 0) {
        answer_plainly(&peer, 404, "only /metrics is served\n");
    } else {
        size_t      bytes = 0;
        pthread_mutex_lock(&m->looks);
        const char *text = !m->ends ? make_page(m, request.openmetrics, &bytes) : NULL;
        pthread_mutex_unlock(&m->looks);
        peer.until_us = clock_mono_us() + METRICS_REQUEST_S * 1000 * 1000;
        if (text != NULL) {
            http_answer(&peer, 200,
                        request.openmetrics
                            ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                            : "text/plain; version=0.0.4; charset=utf-8",
                        text, bytes, head);
        } else {
            answer_plainly(&peer, 500, "the metrics cannot be told; the log says why\n");
        }
    }
}

/* --- the thread --- */

/* Takes those in who have connected. In a crowd without room one more makes another leave, which
 * may have asked meanwhile: so it is one at a time then. */
static void welcome(const struct metrics *m, int listener, struct crowd *crowd) {
    const int bytes = SEND_BYTES;
    int       fd;
    do {
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
            crowd_add(crowd, fd, clock_mono_us() + METRICS_REQUEST_S * 1000 * 1000);
        }
    } while (fd >= 0 && crowd->count < CROWD_MOST);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        struct pollfd stop = {.fd = m->stop_fd, .events = POLLIN};
        poll(&stop, 1, 100); /* until somebody gives a descriptor back, or it ends */
    }
}

static void serve_crowd(struct metrics *m, struct crowd *crowd) {
    uint64_t until_us;
    int      fd;
    while ((fd = crowd_take(crowd, METRICS_REQUEST_BYTES, &until_us)) >= 0) {
        serve_peer(m, fd, until_us);
        crowd_drain(crowd, fd);
    }
}

/* Until one of them is to be looked at. False: it is to end. */
static bool await_any(const struct metrics *m, const struct crowd *crowd,
                      struct pollfd at[1 + SOCKETS_MOST + CROWD_MOST]) {
    at[0] = (struct pollfd){.fd = m->stop_fd, .events = POLLIN};
    for (unsigned i = 0; i < m->count; i++) {
        at[i + 1] = (struct pollfd){.fd = m->fds[i], .events = POLLIN};
    }
    unsigned asking = crowd_poll(crowd, at + 1 + m->count);
    int ready = poll(at, 1 + m->count + asking, crowd_wait_ms(crowd));
    return at[0].revents == 0 && (ready >= 0 || errno == EINTR);
}

static void *metrics_main(void *arg) {
    struct metrics *m = arg;
    struct pollfd   at[1 + SOCKETS_MOST + CROWD_MOST];
    struct crowd    crowd = {.count = 0};
    thread_name("slated-metrics");
    while (await_any(m, &crowd, at)) {
        /* who comes while this rests is the next process's, if there is one */
        pthread_mutex_lock(&m->looks);
        bool ends = m->ends;
        pthread_mutex_unlock(&m->looks);
        for (unsigned i = 1; !ends && i <= m->count; i++) {
            if (at[i].revents != 0) {
                welcome(m, at[i].fd, &crowd);
            }
        }
        serve_crowd(m, &crowd);
    }
    crowd_end(&crowd);
    return NULL;
}

/* --- starting --- */

/* A socket of one address, or -1 and errno. */
static int open_one(const struct addrinfo *ai, struct handed *handed) {
    int on = 1;
    int there = handed_take(handed, SOCK_STREAM, ai->ai_addr);
    if (there >= 0) {
        return there;
    }
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, ai->ai_protocol);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ai->ai_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int failed = errno;
        close(fd);
        errno = failed;
        return -1;
    }
    return fd;
}

/* The addresses of the one place where it is told, whose host is in *a. NULL: after a log line. */
static struct addrinfo *find_place(const struct metrics_config *config, struct address *a,
                                   struct listen_place *place) {
    char        error[SETTING_WHY_BYTES] = "one address is wanted";
    const char *rest = config->address;
    if (address_next(&rest, METRICS_PORT, a, error, sizeof error) <= 0 || *rest != '\0') {
        log_error("-o metrics=%s: %s", config->address, error);
        return NULL;
    }
    *place = (struct listen_place){.host = a->host,
                                   .port = a->port,
                                   .socket_type = SOCK_STREAM,
                                   .local_only = !config->open_to_all};
    return listen_resolve(place);
}

bool metrics_find(const struct metrics_config *config) {
    struct address      a;
    struct listen_place at;
    struct addrinfo    *found = find_place(config, &a, &at);
    if (found == NULL) {
        return false;
    }
    const struct place place = {.at = at, .found = found};
    bool is_here = places_are_here(&place);
    freeaddrinfo(found);
    return is_here;
}

static bool open_sockets(struct metrics *m, const struct metrics_config *config) {
    struct address      a;
    struct listen_place place;
    struct addrinfo    *found = find_place(config, &a, &place);
    int why = EADDRNOTAVAIL;
    if (found == NULL) {
        return false;
    }
    for (const struct addrinfo *ai = found; ai && m->count < SOCKETS_MOST; ai = ai->ai_next) {
        int fd = open_one(ai, config->handed);
        if (fd >= 0) {
            m->fds[m->count++] = fd;
        } else {
            why = errno;
        }
    }
    freeaddrinfo(found);
    return listen_end(&place, m->count, why) == 0;
}

static bool start_thread(struct metrics *m) {
    int failed = thread_start(&m->thread, metrics_main, m);
    if (failed) {
        log_error("cannot start the thread that tells metrics: %s", strerror(failed));
        return false;
    }
    return true;
}

static void release(struct metrics *m) {
    for (unsigned i = 0; i < m->count; i++) {
        close(m->fds[i]);
    }
    for (int i = 0; i < PAGE_GROUPS; i++) {
        text_out_fini(&m->answers[i]);
    }
    figures_destroy(&m->figures);
    page_destroy(&m->page);
    if (m->stop_fd >= 0) {
        close(m->stop_fd);
    }
    pthread_mutex_destroy(&m->looks);
    free(m);
}

struct metrics *metrics_start(struct server *server, const struct metrics_config *config) {
    struct metrics *m = calloc(1, sizeof *m);
    if (m == NULL) {
        log_error("cannot tell metrics: out of memory");
        return NULL;
    }
    m->server = server;
    pthread_mutex_init(&m->looks, NULL);
    for (int i = 0; i < PAGE_GROUPS; i++) {
        text_out_init(&m->answers[i]);
    }
    m->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (m->stop_fd < 0) {
        log_error("cannot tell metrics: %s", strerror(errno));
    }
    bool opened = m->stop_fd >= 0 && open_sockets(m, config);
    if (opened && config->rests) {
        metrics_rest(m); /* before there is a thread */
    }
    if (!opened || !start_thread(m)) {
        if (opened && config->rests) {
            metrics_go_on(m);
        }
        release(m);
        return NULL;
    }
    log_info("metrics on http://%s", config->address);
    return m;
}

void metrics_rest(struct metrics *m) {
    pthread_mutex_lock(&m->looks);
    m->rests = true;
}

void metrics_go_on(struct metrics *m) {
    m->rests = false;
    pthread_mutex_unlock(&m->looks);
}

static void rest(void *arg) { metrics_rest(arg); }
static void go_on(void *arg) { metrics_go_on(arg); }

void metrics_companion(struct metrics *m, struct net_companion *with) {
    *with = (struct net_companion){.fd_count = m->count, .rest = rest, .go_on = go_on, .arg = m};
    memcpy(with->fds, m->fds, m->count * sizeof *m->fds);
}

void metrics_stop(struct metrics **taken) {
    struct metrics *m = *taken;
    const uint64_t  one = 1;
    *taken = NULL;
    if (m == NULL) {
        return;
    }
    while (write(m->stop_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    if (m->rests) {
        m->ends = true;
        metrics_go_on(m);
    }
    pthread_join(m->thread, NULL);
    release(m);
}
