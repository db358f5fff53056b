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
#include "net/takeover/takeover_old.h"
#include "net/tls.h"
#include "net/udp/udp.h"
#include "server/config/settings.h"

/* How often certificate files, and a process that is to take over, are checked. */
enum { TICK_US = 100 * 1000 };

static void net_on_wake(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    uint64_t count;
    (void)what;
    if (read(fd, &count, sizeof count) < 0 && errno != EAGAIN) {
        log_warn("cannot read a wake-up: %s", strerror(errno));
    }
    server_reload(net->server);
    takeover_old_start_next(net);
    if (atomic_load_explicit(&net->server->stop, memory_order_acquire) != SERVER_RUN) {
        event_base_loopbreak(net->base);
    }
}

static void net_on_tick(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    (void)fd;
    (void)what;
    takeover_old_tick(net->takeover);
    if (net->tls != NULL) {
        tls_poll_files(net->tls, clock_mono_us());
    }
}

/* --- starting --- */

void net_config_of(const struct settings *s, struct net_config *net, struct tls_config *tls) {
    *tls = (struct tls_config){
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
        .answers_at_start = s->memory_file && strcmp(s->starting, "answer") == 0,
    };
}

/* Writes the last listener first, as memcached does. */
static void net_write_tcp_ports(FILE *f, const struct listener *l) {
    if (l != NULL) {
        net_write_tcp_ports(f, l->next);
        if (l->port != 0) {
            fprintf(f, "TCP %s: %d\n", l->is_v6 ? "INET6" : "INET", l->port);
        }
    }
}

/* Writes one line for the sockets of all workers. */
static void net_write_udp_ports(FILE *f, const struct udp_socket *u) {
    if (u != NULL) {
        net_write_udp_ports(f, u->next);
        if (u->next == NULL || u->next->port != u->port || u->next->is_v6 != u->is_v6) {
            fprintf(f, "UDP %s: %d\n", u->is_v6 ? "INET6" : "INET", u->port);
        }
    }
}

/* Writes the file of MEMCACHED_PORT_FILENAME: a line "TCP INET: port" for each listener, with TCP
 * or UDP, INET or INET6. Workers' sockets that share an address have one line. The file appears
 * complete or not at all. Returns 0, or -1 and errno. */
static int net_write_port_file(const struct listener *list, const struct udp_socket *udp,
                               const char *path) {
    char temporary_path[4096];
    if (snprintf(temporary_path, sizeof temporary_path, "%s.lck", path) >=
        (int)sizeof temporary_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *f = fopen(temporary_path, "we");
    if (f == NULL) {
        return -1;
    }
    net_write_tcp_ports(f, list);
    net_write_udp_ports(f, udp);
    bool bad = ferror(f) != 0;
    bad = fclose(f) != 0 || bad;
    if (bad || rename(temporary_path, path) != 0) {
        int saved = errno;
        unlink(temporary_path);
        errno = saved;
        return -1;
    }
    return 0;
}

/* Opens one socket a worker for each address. */
static int net_open_udp(struct net *net, const struct bind_address *p) {
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

static int net_open_unix(struct net *net) {
    const struct net_config *cfg = &net->config;
    net->socket_path = strdup(cfg->unix_path);
    int opened = -1;
    if (net->socket_path != NULL) {
        opened = listen_unix(cfg->unix_path, cfg->unix_mode, cfg->backlog, cfg->inherited,
                             &net->listeners);
    }
    if (opened != 0) { /* the file belongs to another process */
        if (net->socket_path == NULL) {
            log_error("cannot listen on %s: %s", cfg->unix_path, strerror(errno));
        }
        free(net->socket_path);
        net->socket_path = NULL;
    }
    return opened;
}

static int net_open_listeners(struct net *net) {
    const struct net_config *cfg = &net->config;
    if (cfg->unix_path != NULL) {
        return net_open_unix(net);
    }
    for (const struct bind_address *p = net->bind_addresses; p != NULL; p = p->next) {
        int opened = p->at.socket_type == SOCK_DGRAM
                         ? net_open_udp(net, p)
                         : listen_tcp(&p->at, p->found, cfg->backlog, &p->as, &net->listeners);
        if (opened != 0) {
            return -1;
        }
    }
    if (cfg->port_file != NULL &&
        net_write_port_file(net->listeners, net->udp, cfg->port_file) != 0) {
        log_warn("cannot write the ports to %s: %s", cfg->port_file, strerror(errno));
    }
    return 0;
}

static int net_prepare_events(struct net *net) {
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
    event_assign(&net->wake_event, net->base, net->wake_fd, EV_READ | EV_PERSIST, net_on_wake, net);
    event_assign(&net->tick_timer, net->base, -1, EV_PERSIST, net_on_tick, net);
    const struct timeval every = {.tv_usec = TICK_US};
    return event_add(&net->wake_event, NULL) == 0 ? event_add(&net->tick_timer, &every) : -1;
}

static bool net_start_tls(struct net *net) {
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

static bool net_attach_udp(struct net *net) {
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

static int net_start_workers(struct net *net) {
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
    if (!net_attach_udp(net)) {
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
    if (config->tls != NULL) { /* the workers read it, too */
        net->tls_config = *config->tls;
        net->config.tls = &net->tls_config;
    }
    net->wake_fd = -1;
    net->base = event_base_new();
    if (!net_start_tls(net) ||
        !bind_addresses_find(&net->config, server_wants_login(server), &net->bind_addresses) ||
        (config->handover_path != NULL &&
         !bind_path_is_usable(config->handover_path, " for a takeover"))) {
        int saved = errno;
        net_destroy(&net);
        errno = saved;
        return NULL;
    }
    return net;
}

bool net_addresses_exist(const struct net *net) {
    return bind_addresses_exist(net->bind_addresses);
}

bool net_open(struct net *net) {
    if (net_open_listeners(net) != 0) {
        return false;
    }
    bind_addresses_free(&net->bind_addresses);
    if (net->config.answers_at_start) {
        net->startup_responder = startup_responder_begin(net->listeners, net->tls != NULL);
        if (net->startup_responder == NULL) {
            log_warn("clients wait until the server serves: %s", strerror(errno));
        }
    }
    return net->config.handover_path == NULL || takeover_old_begin(net);
}

bool net_begin(struct net *net) {
    bool begun = net_prepare_events(net) == 0 && net_start_workers(net) == 0;
    int saved = errno;
    startup_responder_end(&net->startup_responder, begun ? net_accept_early_client : NULL, net);
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

void net_add_handover_listeners(struct net *net, const struct listener *handover_extra) {
    net->handover_extra = handover_extra;
}

void net_takeover_done(struct net *net) {
    const struct net_config *cfg = &net->config;
    net->config.takes_over = false;
    /* a process that connects from now on learns this process's pid */
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

static void net_close_listeners(struct net *net) {
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
    net_close_listeners(net);
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
    startup_responder_end(&net->startup_responder, NULL, NULL);
    net_stop(net, 0);
    server_await_orders(net->server); /* orders read the members that are destroyed below */
    takeover_old_end(&net->takeover);
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
    bind_addresses_free(&net->bind_addresses);
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
