#include "net/takeover/takeover_old.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "net/net_internal.h"
#include "net/takeover/takeover_new.h"
#include "net/udp/udp.h"
#include "server/process/process.h"

enum {
    LISTEN_PAUSE_S = 1, /* how long to wait for a free descriptor */
    HELLO_S = 10,       /* the next process must send HELLO, or end, within this time */
    BUILD_S = 30,       /* the next process must be built within this time */
    SEND_S = 5,         /* the next process must take a message within this time */
    SERVE_S = 5,        /* the next process must serve within SERVE_S + GIB_S a GiB */
    GIB_S = 4,          /* about 1.5 s a GiB are usual */
};
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

/* The next process may end, hang or be stopped at any time, so every wait for it has an end. */
struct takeover_old {
    struct net   *net;        /* NULL: stopped */
    int           listen_fd;
    uint64_t      listen_pause_until_us; /* no descriptor was free; 0: listening */
    int           fd, pid;    /* the next process; fd -1: none has connected */
    int           pidfd;      /* of the next process; -1: the system gives none */
    int           memory_fd;  /* offered to the next process */
    struct handover_fds sockets; /* duplicates of the offered sockets */
    pid_t         child;      /* the process that was started; 0: none */
    uint64_t      child_us;   /* since when `child` has not connected */
    uint64_t      stopped_us; /* when this process began to stop for the next one; 0: not yet */
    uint32_t      serve_s;    /* so long the next process then has to serve */
    struct event  listen_event, peer_event;
};

/* --- the next process --- */

static void takeover_forget_next(struct takeover_old *v) {
    close(v->fd);
    if (v->pidfd >= 0) {
        close(v->pidfd);
    }
    if (v->memory_fd >= 0) {
        close(v->memory_fd);
    }
    handover_fds_close(&v->sockets);
    v->fd = v->pidfd = v->memory_fd = -1;
    v->child_us = clock_mono_us();
}

/* Refuses the next process; this one continues to serve. */
static void takeover_refuse(struct takeover_old *v, const char *why) {
    log_warn("process %d does not take over: %s; this one goes on", v->pid, why);
    handover_refuse(v->fd, why);
    event_del(&v->peer_event);
    takeover_forget_next(v);
}

/* Kills the next process, so that two processes never serve at once. False: the system forbids the
 * kill. */
static bool takeover_kill_next(const struct takeover_old *v) {
    return v->pidfd >= 0 && syscall(SYS_pidfd_send_signal, v->pidfd, SIGKILL, NULL, 0) == 0;
}

/* The filter of system calls allows only the first of these two calls. -1: both fail. */
static int takeover_pidfd_of(int peer, int pid) {
    int fd;
    socklen_t bytes = sizeof fd;
    return getsockopt(peer, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes) == 0
               ? fd
               : (int)syscall(SYS_pidfd_open, pid, 0);
}

/* --- the offer --- */

static bool takeover_dup_sockets(struct takeover_old *v) {
    const struct net *net = v->net;
    const struct listener *const lists[] = {net->listeners, net->handover_extra};
    bool added = true;
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const struct listener *l = lists[i]; l != NULL; l = l->next) {
            added = added && handover_fds_add_dup(&v->sockets, l->record.fd);
        }
    }
    for (const struct udp_socket *u = net->udp; u != NULL; u = u->next) {
        added = added && handover_fds_add_dup(&v->sockets, u->record.fd);
    }
    return added;
}

static bool takeover_send_sockets(const struct takeover_old *v) {
    bool sent = true;
    for (unsigned at = 0; at < v->sockets.count && sent; at += HANDOVER_FDS_MOST) {
        struct handover_message m = {.kind = 0};
        unsigned left = v->sockets.count - at;
        sent = handover_send(v->fd, &m, HANDOVER_SOCKETS, v->sockets.fds + at,
                             left < HANDOVER_FDS_MOST ? left : HANDOVER_FDS_MOST);
    }
    return sent;
}

static void takeover_offer(struct takeover_old *v) {
    v->memory_fd = fcntl(cache_file(v->net->server->cache), F_DUPFD_CLOEXEC, 0);
    if (v->memory_fd < 0 || !takeover_dup_sockets(v)) {
        takeover_refuse(v, "there is no memory or no descriptor for the takeover");
        return;
    }
    struct handover_message m = {.socket_count = v->sockets.count};
    const int fds[HANDOVER_OFFER_FDS] = {v->memory_fd, v->listen_fd};
    failpoint_reach("offer_made");
    if (!handover_send(v->fd, &m, HANDOVER_OFFER, fds, HANDOVER_OFFER_FDS) ||
        !takeover_send_sockets(v)) {
        takeover_refuse(v, strerror(errno));
    }
    failpoint_reach("offered");
}

/* The next process is built: makes main stop this one. */
static void takeover_stop_for_next(struct takeover_old *v) {
    struct server *server = v->net->server;
    uint64_t pages = cache_slab(server->cache)->arena->pages_out;
    int run = SERVER_RUN; /* a stop that was requested meanwhile prevails */
    failpoint_reach("next_ready");
    event_del(&v->peer_event);
    v->serve_s = SERVE_S + (uint32_t)(pages * GIB_S / 1024);
    v->stopped_us = clock_mono_us();
    atomic_compare_exchange_strong(&server->stop, &run, SERVER_HAND_OVER);
    event_base_loopbreak(v->net->base);
}

/* --- events --- */

static void takeover_on_message(evutil_socket_t fd, short what, void *arg) {
    struct takeover_old *v = arg;
    struct handover_message m;
    int fds[HANDOVER_FDS_MOST];
    if (what & EV_TIMEOUT) {
        takeover_kill_next(v);
        takeover_refuse(v, "it is not built in time, and is killed");
        return;
    }
    int got = handover_receive(fd, &m, fds);
    for (unsigned i = 0; got == 1 && i < m.fd_count; i++) {
        close(fds[i]); /* not expected */
    }
    if (got == 1 && m.kind == HANDOVER_HELLO && v->memory_fd < 0) {
        takeover_offer(v);
    } else if (got == 1 && m.kind == HANDOVER_READY && v->memory_fd >= 0) {
        takeover_stop_for_next(v);
    } else {
        takeover_refuse(v, got == 1 && m.kind == HANDOVER_REFUSED ? m.text
                           : got == 0                             ? "it has ended"
                           : got < 0 && errno == EPROTO           ? HANDOVER_OTHER_VERSION
                                                        : "it sent an unknown message");
    }
}

static void takeover_on_connect(evutil_socket_t fd, short what, void *arg) {
    static const struct timeval build = {.tv_sec = BUILD_S}, send = {.tv_sec = SEND_S};
    struct takeover_old *v = arg;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC), pid;
    (void)what;
    if (peer < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_warn("a process that would take over waits: %s", strerror(errno));
            event_del(&v->listen_event); /* the event would come again and again */
            v->listen_pause_until_us = clock_mono_us() + LISTEN_PAUSE_S * 1000000;
        }
        return;
    }
    bool ours = handover_is_ours(peer, &pid);
    if (!ours || v->fd >= 0) {
        handover_refuse(peer, ours ? "another process is taking over" : "it is another user's");
        close(peer);
        return;
    }
    setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof send);
    v->fd = peer;
    v->pid = pid;
    v->pidfd = takeover_pidfd_of(peer, pid);
    event_assign(&v->peer_event, v->net->base, peer, EV_READ | EV_PERSIST, takeover_on_message, v);
    event_add(&v->peer_event, &build);
}

bool takeover_old_begin(struct net *net) {
    const struct net_config *cfg = &net->config;
    struct takeover_old *v = calloc(1, sizeof *v);
    if (v == NULL) {
        return false;
    }
    v->net = net;
    v->fd = v->pidfd = v->memory_fd = -1;
    v->listen_fd = cfg->handover_fd >= 0 ? cfg->handover_fd : handover_listen(cfg->handover_path);
    net->takeover = v;
    if (v->listen_fd < 0) {
        log_error("cannot listen for a takeover on %s: %s", cfg->handover_path, strerror(errno));
        return false;
    }
    event_assign(&v->listen_event, net->base, v->listen_fd, EV_READ | EV_PERSIST,
                 takeover_on_connect, v);
    return event_add(&v->listen_event, NULL) == 0;
}

void takeover_old_end(struct takeover_old **taken) {
    struct takeover_old *v = *taken;
    *taken = NULL;
    if (v == NULL) {
        return;
    }
    if (v->fd >= 0) {
        takeover_refuse(v, "this one stops");
    }
    if (v->listen_fd >= 0) {
        if (event_initialized(&v->listen_event)) {
            event_del(&v->listen_event);
        }
        close(v->listen_fd);
        if (net_has_paths(v->net)) {
            unlink(v->net->config.handover_path);
        }
    }
    free(v);
}

void takeover_old_start_next(struct net *net) {
    struct takeover_old *v = net->takeover;
    if (!atomic_exchange_explicit(&net->server->takeover, false, memory_order_acquire)) {
        return;
    }
    if (v == NULL) {
        log_warn("no other process can take over: that needs -o takeover_socket");
    } else if (v->child != 0 || v->fd >= 0) {
        log_warn("another process is taking over");
    } else {
        v->child = process_start_next();
        v->child_us = clock_mono_us();
    }
}

void takeover_old_tick(struct takeover_old *v) {
    int status;
    if (v == NULL) {
        return;
    }
    if (v->listen_pause_until_us != 0 && clock_mono_us() >= v->listen_pause_until_us &&
        event_add(&v->listen_event, NULL) == 0) {
        v->listen_pause_until_us = 0;
    }
    if (v->child == 0) {
        return;
    }
    if (waitpid(v->child, &status, WNOHANG) != 0) {
        if (v->pid != v->child) { /* else its refusal is in the log */
            log_warn("process %d, started to take over, has ended; this one goes on",
                     (int)v->child);
        }
        v->child = 0;
    } else if (v->fd < 0 && clock_mono_us() - v->child_us > (uint64_t)HELLO_S * 1000000) {
        log_warn("process %d, started to take over, has neither connected nor ended in %d s: it "
                 "is killed",
                 (int)v->child, HELLO_S);
        kill(v->child, SIGKILL); /* the next tick sees its end */
        v->child_us = clock_mono_us();
    }
}

/* --- handing over --- */

struct takeover_old *takeover_old_detach(struct net *net) {
    struct takeover_old *v = net->takeover;
    net->takeover = NULL;
    net->handed_over = true;
    v->net = NULL;
    event_del(&v->listen_event);
    return v;
}

/* Waits until the next process serves. False: the process has ended, or was killed. */
static bool takeover_next_serves(const struct takeover_old *v) {
    struct pollfd p = {.fd = v->fd, .events = POLLIN};
    uint64_t until_us = clock_mono_us() + (uint64_t)v->serve_s * 1000000;
    bool overdue = false, killed = false;
    for (;;) {
        uint64_t now_us = clock_mono_us(), left_us = until_us > now_us ? until_us - now_us : 0;
        struct handover_message m;
        int fds[HANDOVER_FDS_MOST], got = -1;
        int ready = poll(&p, 1, overdue ? -1 : (int)(left_us / 1000));
        if (ready > 0) {
            got = handover_receive(v->fd, &m, fds);
            for (unsigned i = 0; got == 1 && i < m.fd_count; i++) {
                close(fds[i]);
            }
        }
        if (got == 0 || (got == 1 && m.kind == HANDOVER_SERVES && !killed)) {
            return got == 1;
        }
        if (ready >= 0 && !overdue) {
            overdue = true;
            killed = takeover_kill_next(v);
            log_warn("process %d does not serve within %u s%s", v->pid, v->serve_s,
                     killed ? ": it is killed" : "; this one may not kill it, and waits");
        }
    }
}

int takeover_old_hand_over(struct takeover_old **taken, struct takeover_new *back) {
    struct takeover_old *v = *taken;
    struct handover_message m = {.kind = 0};
    *taken = NULL;
    failpoint_reach("left");
    handover_send(v->fd, &m, HANDOVER_GO, NULL, 0); /* if it has ended, the wait below notices */
    failpoint_reach("next_goes");
    int pid = takeover_next_serves(v) ? v->pid : 0;
    if (pid != 0) {
        log_info("process %d has taken over; clients waited %.1f ms", pid,
                 (double)(clock_mono_us() - v->stopped_us) / 1000);
        close(v->listen_fd);
    } else {
        log_warn("process %d does not take over: it has ended; this one goes on", v->pid);
        if (v->child == v->pid) {
            waitpid(v->child, NULL, 0); /* no tick will reap it */
        }
        *back = (struct takeover_new){.fd = -1,
                                 .memory_fd = v->memory_fd,
                                 .handover_fd = v->listen_fd,
                                 .sockets = v->sockets};
        v->memory_fd = -1;
        v->sockets = (struct handover_fds){0};
    }
    takeover_forget_next(v);
    free(v);
    return pid;
}
