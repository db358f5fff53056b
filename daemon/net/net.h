/* Listeners, workers and connections: bytes between sockets and sessions.
 *
 * The caller's thread accepts; each worker thread has an event base, a cache_thread and a batch of
 * its own. In a turn of its loop a worker receives once from every ready connection, runs all their
 * requests as one batch, and sends once to each. An idle connection is one small struct: buffers
 * belong to the worker, which lends them while bytes are unfinished.
 *
 * Ownership: a struct net owns its sockets, threads and connections. The server is borrowed, and
 * outlives the struct net. Threading: net_wake is for any thread and for signal handlers, all other
 * functions for the thread that called net_start. Errors: NULL and errno, after one log line that
 * says the reason. */
#ifndef SLATE_NET_NET_H
#define SLATE_NET_NET_H
#include <stdbool.h>
#include <stdint.h>

#include "net/net_config.h"
#include "server/server.h"

struct net;
struct listener;

/* Reads the certificates, resolves the addresses to listen on, checks the folders of UNIX sockets.
 * Opens no port. */
struct net *net_find(struct server *, const struct net_config *);
/* For --check-config, which goes no further. False, after a log line: an address is not this
 * machine's. */
bool net_addresses_exist(const struct net *);
/* Binds and listens. The server may have no cache yet. False and errno, after a log line; call
 * net_destroy then, too. */
bool net_open(struct net *);
/* Starts the workers; fills server->workers and worker_count, and sets server->on_stop to net_wake.
 * Connections are accepted once net_run runs. Blocks every signal in the workers. False and errno,
 * after a log line; call net_destroy then, too. */
bool net_begin(struct net *);
/* net_find, net_open and net_begin. */
struct net *net_start(struct server *, const struct net_config *);

/* Accepts connections until server->stop is not SERVER_RUN; returns server->stop. */
enum server_stop net_run(struct net *);

/* Makes net_run check server->stop. `net` is a struct net. Async-signal-safe. */
void net_wake(void *net);

/* Adds listeners of others that a takeover hands to the next process as well. Before net_run. The
 * listeners are borrowed. */
void net_add_handover_listeners(struct net *, const struct listener *);

/* This process has taken over (net/takeover/takeover_new.h) and serves: from now on the paths of
 * sockets belong to this process. */
void net_takeover_done(struct net *);

/* Stops accepting, then ends and joins the workers. For at most grace_us the workers first answer
 * requests that clients have sent, and deliver replies; then connections are closed as they are.
 * While another process takes over, new clients wait for all that time. */
enum { NET_GRACE_US = 5 * 1000 * 1000, NET_HAND_OVER_GRACE_US = 300 * 1000 };
void net_stop(struct net *, uint32_t grace_us);

/* Stops as well, if net_stop was not called. Removes the UNIX socket that net_open made. */
void net_destroy(struct net **);
#endif
