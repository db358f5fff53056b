#include "metrics/metrics.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "metrics/exposition.h"
#include "net/listen/address.h"
#include "net/listen/bind_addresses.h"
#include "net/listen/listen.h"

enum {
    BACKLOG = 128,
    LISTENERS_MOST = 8,
    CLIENTS_MOST = 64,
    UNSENT_MOST = 16, /* replies that clients have not read yet */
};

/* One request and its reply. libevent's own HTTP server bounds neither the number of clients nor
 * the time of a complete request. */
struct client {
    TAILQ_ENTRY(client) next;
    struct metrics *metrics;
    int             fd;
    /* deadline: of the request, then of reading the reply */
    struct event    readable, writable, deadline;
    struct text_out answer;
    size_t          sent_bytes; /* of the answer */
    bool            is_answered;
    size_t          request_bytes;
    char            request[METRICS_REQUEST_BYTES + 1];
};

struct metrics {
    struct server     *server;
    pthread_t          thread;
    struct event_base *base;
    struct listener   *listeners;
    struct event       accepts[LISTENERS_MOST], stops;
    unsigned           listener_count;
    int                stop_fd;
    TAILQ_HEAD(client_list, client) clients; /* in order of arrival */
    unsigned        client_count;
};

/* --- clients --- */

static void metrics_client_end(struct client *c) {
    TAILQ_REMOVE(&c->metrics->clients, c, next);
    c->metrics->client_count--;
    event_del(&c->readable);
    event_del(&c->writable);
    event_del(&c->deadline);
    close(c->fd);
    text_out_fini(&c->answer);
    free(c);
}

static bool metrics_has_unsent(const struct client *c) { return c->sent_bytes < c->answer.used; }

static void metrics_restart_deadline(struct client *c) {
    event_add(&c->deadline, &(struct timeval){.tv_sec = METRICS_REQUEST_S});
}

static void metrics_client_send(struct client *c) {
    ssize_t n = send(c->fd, c->answer.bytes + c->sent_bytes, c->answer.used - c->sent_bytes,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        metrics_client_end(c); /* the client is gone, and the socket would stay writable */
        return;
    }
    c->sent_bytes += n > 0 ? (size_t)n : 0;
    if (metrics_has_unsent(c)) {
        event_add(&c->writable, NULL);
    } else {
        text_out_fini(&c->answer);
        c->sent_bytes = 0;
        shutdown(c->fd, SHUT_WR);
    }
}

/* `status` as in HTTP/1: 200 OK. */
static void metrics_client_answer(struct client *c, const char *status, const char *kind,
                                  const char *body, size_t bytes, bool head) {
    text_out_printf(&c->answer,
                    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                    "Connection: close\r\n\r\n",
                    status, kind, bytes);
    text_out_bytes(&c->answer, body, head ? 0 : bytes);
    c->is_answered = true;
    metrics_restart_deadline(c);
    metrics_client_send(c);
}

static void metrics_client_refuse(struct client *c, const char *status, const char *why) {
    metrics_client_answer(c, status, "text/plain", why, strlen(why), false);
}

/* Makes room for one more reply: closes the oldest clients that have not read theirs. */
static void metrics_bound_unsent(struct metrics *m) {
    unsigned unsent = 1;
    for (struct client *before, *c = TAILQ_LAST(&m->clients, client_list); c != NULL; c = before) {
        before = TAILQ_PREV(c, client_list, next);
        unsent += metrics_has_unsent(c);
        if (metrics_has_unsent(c) && unsent > UNSENT_MOST) {
            metrics_client_end(c);
        }
    }
}

static void metrics_answer_page(struct client *c, bool openmetrics, bool head) {
    struct metrics *m = c->metrics;
    struct text_out page;
    text_out_init(&page);
    metrics_bound_unsent(m);
    exposition_write(m->server, openmetrics, &page);
    if (page.failed) {
        log_warn("cannot answer a request for metrics: out of memory");
        metrics_client_refuse(c, "500 Internal Server Error",
                              "there is no memory for the metrics\n");
    } else {
        metrics_client_answer(c, "200 OK",
                              openmetrics
                                  ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8",
                              page.bytes, page.used, head);
    }
    text_out_fini(&page);
}

/* A complete request: "GET /metrics?x HTTP/1.1", and lines of which only Accept matters. Cuts the
 * text. */
static void metrics_answer_request(struct client *c, char *text) {
    char *line = strsep(&text, "\n");
    char *path = strchr(line, ' '), *version = path != NULL ? strchr(path + 1, ' ') : NULL;
    bool  openmetrics = false, head = strncmp(line, "HEAD ", 5) == 0;
    if (version == NULL || path[1] != '/' || strncmp(version, " HTTP/1.", 8) != 0) {
        metrics_client_refuse(c, "400 Bad Request", "only HTTP/1 is served\n");
        return;
    }
    *version = '\0';
    path[strcspn(path, "?")] = '\0';
    if (!head && strncmp(line, "GET ", 4) != 0) {
        metrics_client_refuse(c, "405 Method Not Allowed", "only GET is served\n");
    } else if (strcmp(path, " /metrics") != 0) {
        metrics_client_refuse(c, "404 Not Found", "only /metrics is served\n");
    } else {
        while ((line = strsep(&text, "\n")) != NULL) {
            openmetrics |= strncasecmp(line, "accept:", 7) == 0 &&
                           strstr(line, "application/openmetrics-text") != NULL;
        }
        metrics_answer_page(c, openmetrics, head);
    }
}

/* Reads once, and answers a request that is complete or too long. Drops the bytes behind a request:
 * unread, they would reset the connection before the client has read its reply. */
static void metrics_on_readable(evutil_socket_t fd, short what, void *arg) {
    struct client *c = arg;
    size_t  at = c->is_answered ? 0 : c->request_bytes;
    ssize_t n = recv(fd, c->request + at, METRICS_REQUEST_BYTES - at, MSG_DONTWAIT);
    (void)what;
    if (n == 0 && metrics_has_unsent(c)) {
        event_del(&c->readable); /* the client has ended its side, and may still read */
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        metrics_client_end(c);
    } else if (n > 0 && !c->is_answered) {
        c->request_bytes += (size_t)n;
        c->request[c->request_bytes] = '\0';
        if (strlen(c->request) < c->request_bytes) {
            metrics_client_refuse(c, "400 Bad Request", "a request has no zero byte\n");
        } else if (strstr(c->request, "\r\n\r\n") || strstr(c->request, "\n\n")) {
            metrics_answer_request(c, c->request);
        } else if (c->request_bytes == METRICS_REQUEST_BYTES) {
            metrics_client_refuse(c, "431 Request Header Fields Too Large",
                                  "a request has at most 8 KiB\n");
        }
    }
}

static void metrics_on_writable(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    metrics_client_send(arg);
}

static void metrics_on_deadline(evutil_socket_t fd, short what, void *arg) {
    struct client *c = arg;
    (void)fd;
    (void)what;
    if (c->is_answered) {
        metrics_client_end(c);
    } else {
        metrics_client_refuse(c, "408 Request Timeout", "the request took too long\n");
    }
}

/* Takes the descriptor. If all places are taken, the oldest client goes, with its reply if its
 * request is complete. */
static void metrics_client_begin(struct metrics *m, int fd) {
    struct client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        log_warn("cannot answer a request for metrics: out of memory");
        close(fd);
        return;
    }
    if (m->client_count == CLIENTS_MOST) {
        metrics_on_readable(TAILQ_FIRST(&m->clients)->fd, EV_READ, TAILQ_FIRST(&m->clients));
    }
    if (m->client_count == CLIENTS_MOST) {
        metrics_client_end(TAILQ_FIRST(&m->clients));
    }
    c->metrics = m;
    c->fd = fd;
    TAILQ_INSERT_TAIL(&m->clients, c, next);
    m->client_count++;
    event_assign(&c->readable, m->base, fd, EV_READ | EV_PERSIST, metrics_on_readable, c);
    event_assign(&c->writable, m->base, fd, EV_WRITE, metrics_on_writable, c);
    evtimer_assign(&c->deadline, m->base, metrics_on_deadline, c);
    if (event_add(&c->readable, NULL) != 0) {
        metrics_client_end(c);
    } else {
        metrics_restart_deadline(c);
    }
}

/* --- the thread --- */

static void metrics_on_connect(evutil_socket_t listener, short what, void *arg) {
    struct metrics *m = arg;
    (void)what;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        metrics_client_begin(m, fd);
    } else if (errno == EMFILE || errno == ENFILE) {
        poll(NULL, 0, 100); /* until another thread closes a descriptor */
    }
}

static void metrics_on_stop(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    event_base_loopbreak(arg);
}

static void *metrics_main(void *arg) {
    struct metrics *m = arg;
    thread_name("slated-metrics");
    event_base_dispatch(m->base);
    return NULL;
}

/* --- starting --- */

/* Resolves the single address, whose host is in *a. NULL after a log line. */
static struct addrinfo *metrics_find_place(const struct metrics_config *config, struct address *a,
                                           struct listen_place *place) {
    char        error[SETTING_WHY_BYTES] = "one address is wanted";
    const char *text = config->address;
    if (address_next(&text, METRICS_PORT, a, error, sizeof error) <= 0 || *text != '\0') {
        log_error("-o metrics=%s: %s", config->address, error);
        return NULL;
    }
    *place = (struct listen_place){.host = a->host,
                                   .port = a->port,
                                   .socket_type = SOCK_STREAM,
                                   .local_only = !config->open_to_all,
                                   .inherited = config->inherited};
    return listen_resolve(place);
}

bool metrics_find(const struct metrics_config *config) {
    struct address      a;
    struct listen_place at;
    struct addrinfo    *found = metrics_find_place(config, &a, &at);
    if (found == NULL) {
        return false;
    }
    const struct bind_address address = {.at = at, .found = found};
    bool is_here = bind_addresses_exist(&address);
    freeaddrinfo(found);
    return is_here;
}

static bool metrics_open_listeners(struct metrics *m, const struct metrics_config *config) {
    static const struct listen_entry plain = {.tls = LISTEN_TLS_NONE};
    struct address      a;
    struct listen_place place;
    struct addrinfo    *found = metrics_find_place(config, &a, &place);
    bool opened = found != NULL &&
                  listen_tcp(&place, found, BACKLOG, &plain, &m->listeners) == 0;
    if (found != NULL) {
        freeaddrinfo(found);
    }
    return opened;
}

static bool metrics_start_thread(struct metrics *m) {
    m->base = event_base_new();
    m->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int failed = m->base != NULL && m->stop_fd >= 0 ? 0 : errno;
    if (!failed) {
        event_assign(&m->stops, m->base, m->stop_fd, EV_READ, metrics_on_stop, m->base);
        failed = event_add(&m->stops, NULL) == 0 ? 0 : ENOMEM;
    }
    for (struct listener *l = m->listeners;
         !failed && l != NULL && m->listener_count < LISTENERS_MOST; l = l->next) {
        struct event *accepts = &m->accepts[m->listener_count++];
        event_assign(accepts, m->base, l->record.fd, EV_READ | EV_PERSIST, metrics_on_connect, m);
        failed = event_add(accepts, NULL) == 0 ? 0 : ENOMEM;
    }
    failed = failed ? failed : thread_start(&m->thread, metrics_main, m);
    if (failed) {
        log_error("cannot start the thread that serves metrics: %s", strerror(failed));
    }
    return !failed;
}

static void metrics_release(struct metrics *m) {
    while (!TAILQ_EMPTY(&m->clients)) {
        metrics_client_end(TAILQ_FIRST(&m->clients));
    }
    if (m->base != NULL) {
        event_base_free(m->base);
    }
    while (m->listeners != NULL) {
        struct listener *l = m->listeners;
        m->listeners = l->next;
        close(l->record.fd);
        free(l);
    }
    if (m->stop_fd >= 0) {
        close(m->stop_fd);
    }
    free(m);
}

struct metrics *metrics_start(struct server *server, const struct metrics_config *config) {
    struct metrics *m = calloc(1, sizeof *m);
    if (m == NULL) {
        log_error("cannot answer a request for metrics: out of memory");
        return NULL;
    }
    m->server = server;
    m->stop_fd = -1;
    TAILQ_INIT(&m->clients);
    if (!metrics_open_listeners(m, config) || !metrics_start_thread(m)) {
        metrics_release(m);
        return NULL;
    }
    log_info("metrics on http://%s", config->address);
    return m;
}

const struct listener *metrics_listeners(const struct metrics *m) { return m->listeners; }

void metrics_stop(struct metrics **taken) {
    struct metrics *m = *taken;
    const uint64_t  one = 1;
    *taken = NULL;
    if (m == NULL) {
        return;
    }
    while (write(m->stop_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(m->thread, NULL);
    metrics_release(m);
}
