/* The side that serves: finds the next process, gives it the sockets, and stops for it. All of it
 * is the main thread's. Until the next process says that it is built, no client notices anything.
 * Then this process stops as at any stop, but that the sockets and the memory file stay open: a
 * client that connects meanwhile waits. If the next process does not come to serve, main starts
 * anew with them (net_hand_over). */
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
#include "server/process.h"

enum {
    DEAF_S = 1,   /* between two looks for a descriptor */
    ASK_S = 10,   /* a process that was started has so long to ask, or to end */
    BUILD_S = 30, /* it has so long until it is built */
    SEND_S = 5,   /* it has so long to take a message */
    SERVE_S = 5,  /* it has so long to serve, … */
    GIB_S = 4,    /* … and so long more for each GiB of items: some 1.5 s are usual */
};
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

/* The next process ends when it likes, hangs or stands still, so every wait for it has an end. */
struct leaving {
    struct net   *net; /* NULL: it is stopped */
    int           listen_fd;
    uint64_t      deaf_until_us; /* a descriptor was wanting, so it does not listen; 0: it does */
    int           fd, pid;    /* the next process; fd -1: nobody asks */
    int           pidfd;      /* of it; -1: it cannot be had */
    int           memory_fd;  /* what it was offered … */
    struct handed sockets;    /* … and keeps open here, too */
    pid_t         child;      /* that was started; 0: none */
    uint64_t      child_us;   /* since when it has not asked */
    uint64_t      stopped_us; /* when this process began to stop for it; 0: it does not */
    uint32_t      serve_s;    /* so long the next process has then */
    struct event  listen_event, peer_event;
};

/* --- the next process --- */

static void forget_next(struct leaving *v) {
    close(v->fd);
    if (v->pidfd >= 0) {
        close(v->pidfd);
    }
    if (v->memory_fd >= 0) {
        close(v->memory_fd);
    }
    handed_end(&v->sockets);
    v->fd = v->pidfd = v->memory_fd = -1;
    v->child_us = clock_mono_us();
}

/* Goes on serving. */
static void refuse(struct leaving *v, const char *why) {
    log_warn("process %d does not take over: %s; this one goes on", v->pid, why);
    handover_refuse(v->fd, why);
    event_del(&v->peer_event);
    forget_next(v);
}

/* Kills the next process, so that it does not go on beside this one. False: the system does not let
 * this one do that. */
static bool kill_next(const struct leaving *v) {
    return v->pidfd >= 0 && syscall(SYS_pidfd_send_signal, v->pidfd, SIGKILL, NULL, 0) == 0;
}

/* A filter of system calls allows only the first way. -1: neither way works. */
static int pidfd_of(int peer, int pid) {
    int fd;
    socklen_t bytes = sizeof fd;
    return getsockopt(peer, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes) == 0
               ? fd
               : (int)syscall(SYS_pidfd_open, pid, 0);
}

/* --- what it is offered --- */

static bool keep_sockets(struct leaving *v) {
    const struct net *net = v->net;
    const struct listener *const lists[] = {net->listeners, net->also};
    bool kept = true;
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const struct listener *l = lists[i]; l != NULL; l = l->next) {
            kept = kept && handed_keep(&v->sockets, l->record.fd);
        }
    }
    for (const struct udp_socket *u = net->udp; u != NULL; u = u->next) {
        kept = kept && handed_keep(&v->sockets, u->record.fd);
    }
    return kept;
}

static bool send_sockets(const struct leaving *v) {
    bool sent = true;
    for (unsigned at = 0; at < v->sockets.count && sent; at += HANDOVER_FDS_MOST) {
        struct handover_message m = {.kind = 0};
        unsigned left = v->sockets.count - at;
        sent = handover_send(v->fd, &m, HANDOVER_SOCKETS, v->sockets.fds + at,
                             left < HANDOVER_FDS_MOST ? left : HANDOVER_FDS_MOST);
    }
    return sent;
}

static void offer(struct leaving *v) {
    v->memory_fd = fcntl(cache_file(v->net->server->cache), F_DUPFD_CLOEXEC, 0);
    if (v->memory_fd < 0 || !keep_sockets(v)) {
        refuse(v, "there is no memory or no descriptor for the takeover");
        return;
    }
    struct handover_message m = {.socket_count = v->sockets.count};
    const int fds[HANDOVER_OFFER_FDS] = {v->memory_fd, v->listen_fd};
    failpoint_reach("offer_made");
    if (!handover_send(v->fd, &m, HANDOVER_OFFER, fds, HANDOVER_OFFER_FDS) || !send_sockets(v)) {
        refuse(v, strerror(errno));
    }
    failpoint_reach("offered");
}

/* The next process is built: has main stop this one. */
static void stop_for_next(struct leaving *v) {
    struct server *server = v->net->server;
    uint64_t pages = cache_slab(server->cache)->arena->pages_out;
    int run = SERVER_RUN; /* a wish to stop goes before */
    failpoint_reach("next_ready");
    event_del(&v->peer_event);
    v->serve_s = SERVE_S + (uint32_t)(pages * GIB_S / 1024);
    v->stopped_us = clock_mono_us();
    atomic_compare_exchange_strong(&server->stop, &run, SERVER_HAND_OVER);
    event_base_loopbreak(v->net->base);
}

/* --- events --- */

static void on_peer(evutil_socket_t fd, short what, void *arg) {
    struct leaving *v = arg;
    struct handover_message m;
    int fds[HANDOVER_FDS_MOST];
    if (what & EV_TIMEOUT) {
        kill_next(v);
        refuse(v, "it is not built in time, and is killed");
        return;
    }
    int got = handover_receive(fd, &m, fds);
    for (unsigned i = 0; got == 1 && i < m.fd_count; i++) {
        close(fds[i]); /* nobody asked for them */
    }
    if (got == 1 && m.kind == HANDOVER_HELLO && v->memory_fd < 0) {
        offer(v);
    } else if (got == 1 && m.kind == HANDOVER_READY && v->memory_fd >= 0) {
        stop_for_next(v);
    } else {
        refuse(v, got == 1 && m.kind == HANDOVER_REFUSED ? m.text
                  : got == 0                             ? "it has ended"
                  : got < 0 && errno == EPROTO           ? HANDOVER_OTHER_VERSION
                                                         : "it says nothing that is understood");
    }
}

static void on_next(evutil_socket_t fd, short what, void *arg) {
    static const struct timeval build = {.tv_sec = BUILD_S}, send = {.tv_sec = SEND_S};
    struct leaving *v = arg;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC), pid;
    (void)what;
    if (peer < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_warn("a process that would take over waits: %s", strerror(errno));
            event_del(&v->listen_event); /* it would come again and again */
            v->deaf_until_us = clock_mono_us() + DEAF_S * 1000000;
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
    v->pidfd = pidfd_of(peer, pid);
    event_assign(&v->peer_event, v->net->base, peer, EV_READ | EV_PERSIST, on_peer, v);
    event_add(&v->peer_event, &build);
}

bool leaving_begin(struct net *net) {
    const struct net_config *cfg = &net->config;
    struct leaving *v = calloc(1, sizeof *v);
    if (v == NULL) {
        return false;
    }
    v->net = net;
    v->fd = v->pidfd = v->memory_fd = -1;
    v->listen_fd = cfg->handover_fd >= 0 ? cfg->handover_fd : handover_listen(cfg->handover_path);
    net->leaving = v;
    if (v->listen_fd < 0) {
        log_error("cannot listen for a takeover on %s: %s", cfg->handover_path, strerror(errno));
        return false;
    }
    event_assign(&v->listen_event, net->base, v->listen_fd, EV_READ | EV_PERSIST, on_next, v);
    return event_add(&v->listen_event, NULL) == 0;
}

void leaving_end(struct leaving **taken) {
    struct leaving *v = *taken;
    *taken = NULL;
    if (v == NULL) {
        return;
    }
    if (v->fd >= 0) {
        refuse(v, "this one stops");
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

void leaving_start_next(struct net *net) {
    struct leaving *v = net->leaving;
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

void leaving_look(struct leaving *v) {
    int status;
    if (v == NULL) {
        return;
    }
    if (v->deaf_until_us != 0 && clock_mono_us() >= v->deaf_until_us &&
        event_add(&v->listen_event, NULL) == 0) {
        v->deaf_until_us = 0;
    }
    if (v->child == 0) {
        return;
    }
    if (waitpid(v->child, &status, WNOHANG) != 0) {
        if (v->pid != v->child) { /* else it was told why it does not take over */
            log_warn("process %d, started to take over, has ended; this one goes on",
                     (int)v->child);
        }
        v->child = 0;
    } else if (v->fd < 0 && clock_mono_us() - v->child_us > (uint64_t)ASK_S * 1000000) {
        log_warn("process %d, started to take over, has neither asked for it nor ended in %d s: it "
                 "is killed",
                 (int)v->child, ASK_S);
        kill(v->child, SIGKILL); /* the next look sees its end */
        v->child_us = clock_mono_us();
    }
}

/* --- handing over --- */

struct leaving *net_leave(struct net *net) {
    struct leaving *v = net->leaving;
    net->leaving = NULL;
    net->left = true;
    v->net = NULL;
    event_del(&v->listen_event);
    return v;
}

/* Waits until the next process serves. False: it has ended, by itself or killed. */
static bool next_serves(const struct leaving *v) {
    struct pollfd p = {.fd = v->fd, .events = POLLIN};
    uint64_t until_us = clock_mono_us() + (uint64_t)v->serve_s * 1000000;
    bool late = false, killed = false;
    for (;;) {
        uint64_t now_us = clock_mono_us(), left_us = until_us > now_us ? until_us - now_us : 0;
        struct handover_message m;
        int fds[HANDOVER_FDS_MOST], got = -1;
        int ready = poll(&p, 1, late ? -1 : (int)(left_us / 1000));
        if (ready > 0) {
            got = handover_receive(v->fd, &m, fds);
            for (unsigned i = 0; got == 1 && i < m.fd_count; i++) {
                close(fds[i]);
            }
        }
        if (got == 0 || (got == 1 && m.kind == HANDOVER_SERVES && !killed)) {
            return got == 1;
        }
        if (ready >= 0 && !late) {
            late = true;
            killed = kill_next(v);
            log_warn("process %d does not serve within %u s%s", v->pid, v->serve_s,
                     killed ? ": it is killed" : "; this one may not kill it, and waits");
        }
    }
}

int net_hand_over(struct leaving **taken, struct arrival *back) {
    struct leaving *v = *taken;
    struct handover_message m = {.kind = 0};
    *taken = NULL;
    failpoint_reach("left");
    handover_send(v->fd, &m, HANDOVER_GO, NULL, 0); /* if it has ended, the next look shows that */
    failpoint_reach("next_goes");
    int pid = next_serves(v) ? v->pid : 0;
    if (pid != 0) {
        log_info("process %d has taken over; clients waited %.1f ms", pid,
                 (double)(clock_mono_us() - v->stopped_us) / 1000);
        close(v->listen_fd);
    } else {
        log_warn("process %d does not take over: it has ended; this one goes on", v->pid);
        if (v->child == v->pid) {
            waitpid(v->child, NULL, 0); /* nobody looks for it any more */
        }
        *back = (struct arrival){.fd = -1,
                                 .memory_fd = v->memory_fd,
                                 .handover_fd = v->listen_fd,
                                 .sockets = v->sockets};
        v->memory_fd = -1;
        v->sockets = (struct handed){0};
    }
    forget_next(v);
    free(v);
    return pid;
}
