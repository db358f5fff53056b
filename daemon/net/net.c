#include "net/net.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/listen/bind_addresses.h"
#include "net/listen/startup_responder.h"
#include "net/net_internal.h"
#include "net/takeover/handover.h"
#include "net/tls.h"

/* Between two looks at certificate files and at a process that is to take over. */
enum { LOOK_US = 100 * 1000 };

static void on_wake(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    uint64_t count;
    (void)what;
    if (read(fd, &count, sizeof count) < 0 && errno != EAGAIN) {
        log_warn("cannot read a wake-up: %s", strerror(errno));
    }
    server_reload(net->server);
    leaving_start_next(net);
    if (atomic_load_explicit(&net->server->stop, memory_order_acquire) != SERVER_RUN) {
        event_base_loopbreak(net->base);
    }
}

static void on_look(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    (void)fd;
    (void)what;
    leaving_look(net->leaving);
    if (net->tls != NULL) {
        tls_look(net->tls, clock_mono_us());
    }
}

/* --- starting --- */

static struct tls_config tls_config_of(const struct settings *s) {
    return (struct tls_config){
        .chain_file = s->ssl_chain_cert,
        .key_file = s->ssl_key,
        .ca_file = s->ssl_ca_cert,
        .key_is_der = s->ssl_keyformat == 2,
        .verify_mode = (unsigned)s->ssl_verify_mode,
        .ciphers = s->ssl_ciphers,
        .min_version = s->ssl_min_version,
        .session_cache = s->ssl_session_cache,
        .kernel = s->ssl_kernel_tls,
        .write_bytes = s->ssl_wbuf_size,
        .handshake_s = (uint32_t)s->ssl_handshake_timeout,
    };
}

void net_config_of(const struct settings *s, struct net_config *net, struct tls_config *tls) {
    *tls = tls_config_of(s);
    *net = (struct net_config){
        .listen = s->inter,
        .tls = s->ssl_enabled ? tls : NULL,
        .port = s->port,
        .open_to_all = s->public,
        .udp_port = s->udpport,
        .udp_factor = (uint32_t)s->udp_reply_factor,
        .unix_path = s->socketpath,
        .unix_mode = (unsigned)s->access_mask,
        .backlog = s->backlog,
        .worker_count = (unsigned)s->threads,
        .value_timeout_s = (uint32_t)s->value_timeout,
        .held_bytes_most = s->read_buf_mem_limit,
        .handover_path = s->takeover_socket,
        .handover_fd = -1,
        .takes_over = s->takeover,
        .tell_starting = s->memory_file && strcmp(s->starting, "answer") == 0,
    };
}

/* The last first, as memcached does. */
static void write_tcp(FILE *f, const struct listener *l) {
    if (l != NULL) {
        write_tcp(f, l->next);
        if (l->port != 0) {
            fprintf(f, "TCP %s: %d\n", l->is_v6 ? "INET6" : "INET", l->port);
        }
    }
}

/* Once for the sockets of all workers. */
static void write_udp(FILE *f, const struct udp_socket *u) {
    if (u != NULL) {
        write_udp(f, u->next);
        if (u->next == NULL || u->next->port != u->port || u->next->is_v6 != u->is_v6) {
            fprintf(f, "UDP %s: %d\n", u->is_v6 ? "INET6" : "INET", u->port);
        }
    }
}

/* The file of MEMCACHED_PORT_FILENAME: a line "TCP INET: port" for each listener, TCP or UDP, INET
 * or INET6; of the sockets of the workers that share an address, one line. The file appears
 * complete or not at all. Returns 0, or -1 and errno. */
static int port_file_write(const struct listener *list, const struct udp_socket *udp,
                           const char *path) {
    char draft[4096];
    if (snprintf(draft, sizeof draft, "%s.lck", path) >= (int)sizeof draft) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *f = fopen(draft, "we");
    if (f == NULL) {
        return -1;
    }
    write_tcp(f, list);
    write_udp(f, udp);
    bool bad = ferror(f) != 0;
    bad = fclose(f) != 0 || bad;
    if (bad || rename(draft, path) != 0) {
        int saved = errno;
        unlink(draft);
        errno = saved;
        return -1;
    }
    return 0;
}

/* A socket a worker for each address. */
static int open_udp(struct net *net, const struct place *p) {
    struct udp_socket **before = &net->udp;
    while (*before != NULL) {
        before = &(*before)->next;
    }
    if (udp_listen(&p->at, p->found, net->config.worker_count, &net->udp) != 0) {
        return -1;
    }
    for (struct udp_socket *u = *before; u != NULL; u = u->next) {
        u->factor = net->config.udp_factor;
        u->access = net_access_of(net, u->is_local, p->as.role, p->as.protocol);
    }
    return 0;
}

static int open_unix(struct net *net) {
    const struct net_config *cfg = &net->config;
    net->socket_path = strdup(cfg->unix_path);
    int opened = -1;
    if (net->socket_path != NULL) {
        opened = listen_unix(cfg->unix_path, cfg->unix_mode, cfg->backlog, cfg->handed,
                             &net->listeners);
    }
    if (opened != 0) { /* the file is not ours */
        if (net->socket_path == NULL) {
            log_error("cannot listen on %s: %s", cfg->unix_path, strerror(errno));
        }
        free(net->socket_path);
        net->socket_path = NULL;
    }
    return opened;
}

static int open_listeners(struct net *net) {
    const struct net_config *cfg = &net->config;
    if (cfg->unix_path != NULL) {
        return open_unix(net);
    }
    for (const struct place *p = net->places; p != NULL; p = p->next) {
        int opened = p->at.socket_type == SOCK_DGRAM
                         ? open_udp(net, p)
                         : listen_tcp(&p->at, p->found, cfg->backlog, &p->as, &net->listeners);
        if (opened != 0) {
            return -1;
        }
    }
    if (cfg->port_file != NULL && port_file_write(net->listeners, net->udp, cfg->port_file) != 0) {
        log_warn("cannot write the ports to %s: %s", cfg->port_file, strerror(errno));
    }
    return 0;
}

static int prepare_events(struct net *net) {
    for (struct listener *l = net->listeners; l != NULL; l = l->next) {
        net->listener_count++;
    }
    net->accept_events = calloc(net->listener_count + 1, sizeof *net->accept_events);
    net->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (net->base == NULL || net->accept_events == NULL || net->wake_fd < 0) {
        return -1;
    }
    unsigned i = 0;
    for (struct listener *l = net->listeners; l != NULL; l = l->next, i++) {
        event_assign(&net->accept_events[i], net->base, l->record.fd, EV_READ | EV_PERSIST,
                     net_on_accept, net);
        if (event_add(&net->accept_events[i], NULL) != 0) {
            return -1;
        }
        conn_registry_add(&net->server->registry, &l->record);
        atomic_store_explicit(&l->record.last_cmd_s, clock_now_s(), memory_order_relaxed);
        net_add(&net->server->conns.total, 1);
        net_add(&net->server->conns.structures, 1);
        log_info("listening on %s", l->record.addr);
    }
    event_assign(&net->retry_timer, net->base, -1, EV_PERSIST, net_on_retry, net);
    event_assign(&net->wake_event, net->base, net->wake_fd, EV_READ | EV_PERSIST, on_wake, net);
    event_assign(&net->look_timer, net->base, -1, EV_PERSIST, on_look, net);
    const struct timeval every = {.tv_usec = LOOK_US};
    return event_add(&net->wake_event, NULL) == 0 ? event_add(&net->look_timer, &every) : -1;
}

static bool start_tls(struct net *net) {
    struct server_tls *facts = &net->server->tls;
    char why[SERVER_TLS_WHY_BYTES];
    if (net->config.tls == NULL) {
        return true;
    }
    net->tls = tls_create(net->config.tls, facts, why);
    if (net->tls == NULL) {
        log_error("%s", why);
        errno = EINVAL;
        return false;
    }
    facts->reload = tls_reload;
    facts->reload_arg = net->tls;
    return true;
}

static bool attach_udp(struct net *net) {
    unsigned i = 0;
    for (struct udp_socket *u = net->udp; u != NULL; u = u->next, i++) {
        if (!udp_attach(u, &net->workers[i % net->worker_count])) {
            return false;
        }
        if (u->next == NULL || strcmp(u->next->record.addr, u->record.addr) != 0) {
            log_info("listening on %s", u->record.addr); /* once for the sockets of all workers */
        }
    }
    return true;
}

static int start_workers(struct net *net) {
    struct server *server = net->server;
    for (unsigned i = 0; i < net->config.worker_count; i++) {
        struct worker *w = &net->workers[i];
        bool made = worker_init(w, server, &net->config, net->tls);
        net->worker_count = i + 1;
        if (!made) {
            return -1;
        }
        server->workers[i] = w->counters;
    }
    if (!attach_udp(net)) {
        return -1;
    }
    server->worker_count = net->worker_count;
    for (unsigned i = 0; i < net->worker_count; i++) {
        if (!worker_start(&net->workers[i])) {
            return -1;
        }
    }
    return 0;
}

struct net *net_find(struct server *server, const struct net_config *config) {
    assert(config->worker_count >= 1 && config->worker_count <= SERVER_WORKERS_MAX);
    struct net *net = calloc(1, sizeof *net + config->worker_count * sizeof net->workers[0]);
    if (net == NULL) {
        log_error("cannot start the workers: %s", strerror(errno));
        return NULL;
    }
    net->server = server;
    net->config = *config;
    if (config->tls != NULL) { /* the workers look at it, too */
        net->tls_config = *config->tls;
        net->config.tls = &net->tls_config;
    }
    net->wake_fd = -1;
    net->base = event_base_new();
    if (!start_tls(net) ||
        !places_find(&net->config, server_wants_login(server), &net->places) ||
        (config->handover_path != NULL &&
         !places_take_socket(config->handover_path, " for a takeover"))) {
        int saved = errno;
        net_destroy(&net);
        errno = saved;
        return NULL;
    }
    return net;
}

bool net_is_here(const struct net *net) { return places_are_here(net->places); }

bool net_open(struct net *net) {
    if (open_listeners(net) != 0) {
        return false;
    }
    places_free(&net->places);
    if (net->config.tell_starting) {
        net->starting = starting_begin(net->listeners, net->tls != NULL);
        if (net->starting == NULL) {
            log_warn("clients wait until the server serves: %s", strerror(errno));
        }
    }
    return net->config.handover_path == NULL || leaving_begin(net);
}

bool net_begin(struct net *net) {
    bool begun = prepare_events(net) == 0 && start_workers(net) == 0;
    int saved = errno;
    starting_end(&net->starting, begun ? net_take_guest : NULL, net);
    if (!begun) {
        log_error("cannot start the workers: %s", strerror(saved));
        errno = saved;
        return false;
    }
    net->server->on_stop = net_wake;
    atomic_store_explicit(&net->server->on_stop_arg, net, memory_order_release);
    atomic_store_explicit(&net->server->conns.accepting, true, memory_order_relaxed);
    return true;
}

struct net *net_start(struct server *server, const struct net_config *config) {
    struct net *net = net_find(server, config);
    if (net != NULL && !(net_open(net) && net_begin(net))) {
        int saved = errno;
        net_destroy(&net);
        errno = saved;
    }
    return net;
}

void net_go_along(struct net *net, const struct listener *also) { net->also = also; }

void net_arrived(struct net *net) {
    const struct net_config *cfg = &net->config;
    net->config.takes_over = false;
    /* the next one that connects is told this process's number */
    listen(cfg->handover_fd, HANDOVER_WAITING_MOST);
    if (cfg->unix_path != NULL && chmod(cfg->unix_path, cfg->unix_mode) != 0) {
        log_warn("%s keeps its permissions: %s", cfg->unix_path, strerror(errno));
    }
}

/* --- running and stopping --- */

enum server_stop net_run(struct net *net) {
    enum server_stop stop;
    while ((stop = (enum server_stop)atomic_load_explicit(&net->server->stop,
                                                          memory_order_acquire)) == SERVER_RUN) {
        event_base_loop(net->base, 0);
    }
    return stop;
}

void net_wake(void *arg) {
    struct net *net = arg;
    uint64_t one = 1;
    int saved = errno;
    /* A full counter, the only way to fail, means that a wake-up is already due. */
    ssize_t written = write(net->wake_fd, &one, sizeof one);
    (void)written;
    errno = saved;
}

static void close_listeners(struct net *net) {
    if (net->accept_events != NULL && net->listener_count > 0) {
        for (unsigned i = 0; i < net->listener_count; i++) {
            if (event_initialized(&net->accept_events[i])) {
                event_del(&net->accept_events[i]);
            }
        }
    }
    while (net->listeners != NULL) {
        struct listener *l = net->listeners;
        net->listeners = l->next;
        if (l->record.link != NULL) {
            conn_registry_remove(&net->server->registry, &l->record);
            net_add(&net->server->conns.structures, (uint64_t)-1);
        }
        close(l->record.fd);
        free(l);
    }
}

void net_stop(struct net *net, uint32_t grace_us) {
    if (net->stopped) {
        return;
    }
    net->stopped = true;
    atomic_store_explicit(&net->server->conns.accepting, false, memory_order_relaxed);
    close_listeners(net);
    for (unsigned i = 0; i < net->worker_count; i++) {
        if (net->workers[i].started) {
            worker_stop(&net->workers[i], grace_us);
        }
    }
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_join(&net->workers[i]);
    }
    udp_close(&net->udp);
}

void net_destroy(struct net **taken) {
    struct net *net = *taken;
    if (net == NULL) {
        return;
    }
    *taken = NULL;
    starting_end(&net->starting, NULL, NULL);
    net_stop(net, 0);
    server_await_orders(net->server); /* they read what follows */
    leaving_end(&net->leaving);
    for (unsigned i = 0; i < net->worker_count; i++) {
        net->server->workers[i] = NULL;
        worker_fini(&net->workers[i]);
    }
    net->server->worker_count = 0;
    if (atomic_load_explicit(&net->server->on_stop_arg, memory_order_relaxed) == net) {
        atomic_store_explicit(&net->server->on_stop_arg, NULL, memory_order_release);
    }
    net->server->tls.reload = NULL;
    tls_destroy(&net->tls);
    places_free(&net->places);
    if (net->base != NULL) {
        event_base_free(net->base);
    }
    if (net->wake_fd >= 0) {
        close(net->wake_fd);
    }
    if (net->socket_path != NULL && net_has_paths(net)) {
        unlink(net->socket_path);
    }
    free(net->socket_path);
    free(net->accept_events);
    free(net);
}
