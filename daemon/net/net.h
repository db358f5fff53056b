/* Listeners, workers and connections: bytes between sockets and sessions.
 *
 * The caller's thread accepts; each worker thread has an event base, a cache_thread and a batch of
 * its own. In a turn of its loop a worker receives once from every ready connection, runs all their
 * requests as one batch, and sends once to each. An idle connection is one small struct: buffers
 * belong to the worker and are lent while bytes are unfinished.
 *
 * Ownership: a struct net owns its sockets, threads and connections; it borrows the server, which
 * must outlive it. Threading: net_wake is for any thread and for signal handlers, all else for the
 * thread that called net_start. Errors: NULL and errno, after one log line that says what could not
 * be had. */
#ifndef SLATE_NET_NET_H
#define SLATE_NET_NET_H
#include <stdbool.h>
#include <stdint.h>

#include "net/tls.h"
#include "server/server.h"

struct net_config {
    /* Comma-separated addresses to listen on, with the words of server/config/listen_list.h before
     * them: host, host:port, [v6]:port, * for every interface.
     * NULL or empty: 127.0.0.1. A host may name several addresses; all are taken. The same address
     * and port twice is taken once. */
    const char *listen;
    /* of addresses without one: 1..65535; 0: no TCP at all; -1: any free port */
    int         port;
    int         udp_port;       /* likewise, of UDP; 0: no UDP */
    uint32_t    udp_factor;     /* net/udp/udp.h; 0: replies are as long as they are */
    const char *unix_path;      /* listen on this UNIX socket and not on TCP; NULL: TCP */
    unsigned    unix_mode;      /* permissions of the socket, 0700 for its owner alone */
    int         backlog;
    unsigned    worker_count;   /* 1..SERVER_WORKERS_MAX */
    /* addresses that other machines reach are taken although nobody there has to prove who he is */
    bool        open_to_all;
    const struct tls_config *tls; /* NULL: nobody speaks TLS */
    /* refuse values whose bytes don't come for so long; 0: only while others wait for their
     * memory */
    uint32_t    value_timeout_s;
    /* what connections of all workers may hold of memory (net/buffer.h); 0: no limit */
    uint64_t    held_bytes_most;
    /* where the next process finds this one; NULL: nowhere. Its socket is `handover_fd` if that was
     * handed over, else -1 */
    const char *handover_path;
    int         handover_fd;
    struct handed *handed; /* sockets of the process before; NULL: none */
    bool        takes_over; /* until net_arrived, the paths of sockets are another process's */
    /* write "TCP INET: port" lines here (MEMCACHED_PORT_FILENAME); NULL: no */
    const char *port_file;
    /* whoever asks before net_begin is told so (net/listen/startup_responder.h); else all wait */
    bool        tell_starting;
};

/* What the network is told of the settings. Both borrow texts of the settings, and the first points
 * to the second with -Z. What comes of another process or of the environment is left out. */
void net_config_of(const struct settings *, struct net_config *, struct tls_config *);

struct net;

/* Finds what is named: certificates, the addresses to listen on, the folders of UNIX sockets. Opens
 * no port. */
struct net *net_find(struct server *, const struct net_config *);
/* For --check-config, which goes no further: whether the addresses are this machine's. False: after
 * a log line. */
bool net_is_here(const struct net *);
/* Binds and listens. The server's cache need not be there yet. False and errno, after a log line;
 * what was opened is still to be closed by net_destroy. */
bool net_open(struct net *);
/* Starts the workers; fills server->workers and worker_count, and sets server->on_stop to net_wake.
 * Connections are accepted once net_run runs. Blocks every signal in the workers. False and errno,
 * after a log line; what was opened is still to be closed by net_destroy. */
bool net_begin(struct net *);
/* All three. */
struct net *net_start(struct server *, const struct net_config *);

/* Accepts connections until server->stop is not SERVER_RUN; returns it. */
enum server_stop net_run(struct net *);

/* Makes net_run look at server->stop. `net` is a struct net; async-signal-safe. */
void net_wake(void *net);

/* Sockets beside the network's own that go over to a next process. Before net_run; they are
 * borrowed. */
struct listener;
void net_go_along(struct net *, const struct listener *);

/* This process has taken over (net/takeover/takeover_new.h) and serves: the paths of sockets are
 * its own now. */
void net_arrived(struct net *);

/* Once net_run has returned SERVER_HAND_OVER and net_stop was called: takes out the next process,
 * with the sockets and the memory file that were offered to it, which stay open. */
struct leaving;
struct leaving *net_leave(struct net *);
/* Once all else is destroyed: lets the next process have the memory file, and waits until it
 * serves. Returns its number. 0: it has ended, or was killed because it hung; `back` has the
 * sockets and the file, for a start anew. */
struct arrival;
int net_hand_over(struct leaving **taken, struct arrival *back);

/* Stops accepting, then ends and joins the workers. For so long at most, requests already sent by
 * clients are answered and replies are delivered first; then connections are closed as they are.
 * While a next process takes over, clients that come wait for all that time. */
enum { NET_GRACE_US = 5 * 1000 * 1000, NET_HAND_OVER_GRACE_US = 300 * 1000 };
void net_stop(struct net *, uint32_t grace_us);

/* After net_stop. Removes the UNIX socket it made. */
void net_destroy(struct net **);
#endif
