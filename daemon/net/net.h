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
#include "serve/server.h"

struct net_config {
    /* Comma-separated addresses to listen on, with the words of serve/config/listen_list.h before
     * them: host, host:port, [v6]:port, * for every interface.
     * NULL or empty: 127.0.0.1. A host may name several addresses; all are taken. The same address
     * and port twice is taken once. */
    const char *listen;
    /* of addresses without one: 1..65535; 0: no TCP at all; -1: any free port */
    int         port;
    int         udp_port;       /* likewise, of UDP; 0: no UDP */
    uint32_t    udp_factor;     /* net/udp.h; 0: replies are as long as they are */
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
    bool        rests;     /* workers rest, and nobody is accepted, until net_arrive */
    /* write "TCP INET: port" lines here (MEMCACHED_PORT_FILENAME); NULL: no */
    const char *port_file;
    /* whoever asks before net_begin is told so (net/starting.h); else all wait */
    bool        tell_starting;
};

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

/* What goes along to the next process beside the network's own: sockets that listen, and a thread
 * that answers there. It rests while the cache is handed over, and for good when it was. */
enum { NET_COMPANION_FDS = 8 };
struct net_companion {
    int      fds[NET_COMPANION_FDS];
    unsigned fd_count;
    void   (*rest)(void *); /* returns once it does; NULL: there is nobody */
    void   (*go_on)(void *);
    void    *arg;
};
/* Before net_run; the sockets are borrowed. */
void net_go_along(struct net *, const struct net_companion *);

/* Whether another process has taken over: all that is left is to end. Its number. */
bool net_left(const struct net *, int *pid);

struct arrival;
/* The other side (net/arrive.h): waits until the process before has left everything to this one;
 * then cache and connections are this one's. False: it goes on, and this one has to end, after a
 * line in the log. */
bool net_arrive(struct net *, struct arrival *);

/* Stops accepting, then ends and joins the workers. Graceful: requests already sent by clients are
 * answered and replies are delivered first, for at most NET_GRACE_S seconds; otherwise connections
 * are closed as they are. */
enum { NET_GRACE_S = 5 };
void net_stop(struct net *, bool graceful);

/* After net_stop. Removes the UNIX socket it made. */
void net_destroy(struct net **);
#endif
