/* What all sessions of one server share. Built bottom-up by main, borrowed by everybody else;
 * nothing here owns a socket. */
#ifndef SLATE_SERVER_SERVER_H
#define SLATE_SERVER_SERVER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/lock.h"
#include "control/tune.h"
#include "server/auth/users.h"
#include "server/coalesced_reply.h"
#include "server/config/audit.h"
#include "server/config/settings.h"
#include "server/config/undo.h"
#include "server/conn_registry.h"
#include "server/memory_limit.h"
#include "server/published.h"
#include "watch/watcher.h"

/* What sessions and connections count, per worker, by the names of the statistics that show it
 * (stats/general.c, own.c), where its meaning stands. */
#define SERVE_COUNTERS(X) \
    X(cmd_flush) X(cmd_meta) X(bytes_read) X(bytes_written) X(conn_yields) \
    X(values_waited) X(values_late) X(idle_kicks) X(read_buf_oom) X(response_obj_oom) \
    X(auth_cmds) X(auth_errors) X(role_refusals) \
    X(udp_datagrams) X(udp_dropped) X(udp_refused) X(udp_lost) \
    X(batches) X(requests)
struct serve_counters { SERVE_COUNTERS(COUNTER_MEMBER) };
struct serve_values { SERVE_COUNTERS(COUNTER_VALUE) };

enum { SERVER_WORKERS_MAX = 128 };

/* Facts about connections; written by net with relaxed atomics, read by stats. */
struct server_conns {
    /* settings, for net to read: at most so many connections; beyond that, an error (fast) or a
     * wait; after how long an idle one is closed, 0: never */
    _Atomic uint32_t most, idle_timeout_s;
    _Atomic bool     most_fast;
    /* structures: connection objects that exist */
    _Atomic uint64_t current, total, rejected, structures;
    _Atomic uint64_t listen_disabled_num, listen_disabled_us;
    _Atomic uint64_t buffer_count, buffer_bytes, buffer_free_bytes; /* workers' read buffers */
    _Atomic uint64_t reply_count, reply_bytes; /* replies that clients do not take: connections */
    _Atomic bool     accepting;
};

enum { SERVER_TLS_WHY_BYTES = 512 };

/* Written by net, read by stats and by those who ask for a reload. */
struct server_tls {
    _Atomic uint64_t handshake_errors, proto_errors, new_sessions;
    _Atomic uint32_t loaded_s; /* when the files were read */
    /* reads the certificates again; false: all stays, and `why` tells why. NULL: there is no TLS */
    bool           (*reload)(void *, char why[SERVER_TLS_WHY_BYTES]);
    void            *reload_arg;
};

struct prefix_stats;
struct logins;

/* Answers that are made once for all who ask at once. */
enum server_coalesced { SERVER_COALESCED_SIZEHIST, SERVER_COALESCED_SIZES, SERVER_COALESCED_COUNT };

/* SERVER_HAND_OVER: a next process is built, and takes over */
enum server_stop { SERVER_RUN, SERVER_STOP, SERVER_STOP_GRACEFUL, SERVER_HAND_OVER };

/* What `stats reset` subtracts from now on, since a counter is only ever written by its owner. */
struct server_baseline {
    struct serve_values serve;
    struct tune_facts   tune; /* its counters */
    struct watch_facts  watch;
    uint64_t            conns_total, conns_rejected, listen_disabled_num, listen_disabled_us;
    uint64_t            handshake_errors, proto_errors, new_sessions; /* of TLS */
    uint64_t            log_lost;
};

struct server {
    struct settings      at_start; /* STARTUP values are constant: read them here */
    struct published     settings; /* of now: server_settings() */
    struct cache        *cache;
    struct tuner        *tuner;
    struct prefix_stats *prefixes; /* `stats detail`; made by server_init */
    const char          *event_version; /* of the event library, for stats; a constant */
    struct server_conns  conns;
    struct server_tls    tls;
    struct conn_registry registry;
    struct serve_counters *workers[SERVER_WORKERS_MAX]; /* of each worker; set before it starts */
    unsigned             worker_count;
    _Atomic int          stop;      /* enum server_stop; the shutdown command sets it */
    _Atomic bool         reload;    /* SIGHUP: files are to be read again */
    _Atomic bool         takeover;  /* SIGUSR2: the next process is to be started */
    void               (*on_stop)(void *); /* wakes main's loop after one of these; any thread */
    void *_Atomic        on_stop_arg;      /* set behind on_stop; NULL: there is no loop */

    struct published       baseline; /* of struct server_baseline */
    struct users           users; /* has a lock of its own */
    struct logins         *logins; /* by SASL; NULL: not there. Set before the first session */
    struct coalesced_reply   coalesced[SERVER_COALESCED_COUNT]; /* likewise */

    /* What follows belongs to the control thread. */
    struct audit           audit;
    struct undo            undo;
    struct memory_limit          memory;    /* the limit of the process */
    struct control_task    memory_task;      /* at the memory */
    bool                   file_gone; /* the memory file was removed */
    struct serve_counters  orders;    /* what orders count */
};

/* Copies the settings. The caller fills cache, tuner and the rest before the first session. False:
 * out of memory. */
bool server_init(struct server *, const struct settings *);
void server_fini(struct server *);

/* A copy of the settings in force. Any thread. */
void server_settings(struct server *, struct settings *copy);
/* Tells net what the settings say of connections. */
void server_set_conns(struct server *, const struct settings *);
static inline struct control *server_control(const struct server *server) {
    return tuner_control(server->tuner);
}

/* Posts an order that calls `run` on the control thread, and that nobody waits for. Any thread. */
void server_post(struct server *, void (*run)(struct server *));
/* Waits until the control thread has run all orders. main's thread, once no session runs: what
 * orders use may be taken down then. */
void server_await_orders(struct server *);

/* --- what follows is for the control thread (control/control.h): within orders and tasks --- */

/* The settings in force, until the next change. */
static inline const struct settings *server_settings_now(const struct server *server) {
    return published_now(&server->settings);
}
void server_reset_counters(struct server *);

/* --- for main --- */

/* One limit for the memory of the process (server/memory_limit.h), which the control thread keeps
 * from then on. Once, before the first session; false: it leaves too little for items, and `why`
 * (SETTING_WHY_BYTES) tells. */
bool server_memory_begin(struct server *, char *why);
void server_memory_facts(struct server *, struct memory_facts *); /* any thread */

/* Whether clients have to say who they are. */
static inline bool server_wants_login(const struct server *server) {
    return server->users.path != NULL || server->logins != NULL;
}

/* Asks main to end the server; SERVER_STOP_GRACEFUL lets clients have what they asked for. Any
 * thread. */
void server_request_stop(struct server *, enum server_stop);
/* Asks main to read files again. Any thread, and signal handlers. */
void server_request_reload(struct server *);

/* Asks main to start the process that takes over. Likewise. */
void server_request_takeover(struct server *);

/* Has the files read again, if that was asked for: certificates, users. Main's thread. */
void server_reload(struct server *);

/* The highest class id that a command may name: memcached's 63, or more where the geometry has
 * more. */
static inline unsigned server_class_last(const struct server *server) {
    unsigned count = cache_slab(server->cache)->class_count;
    return count > SLAB_CLASSES_AT_START ? count : SLAB_CLASSES_AT_START;
}

/* Sums over the workers, less what a reset took away. */
void server_values(struct server *, struct serve_values *);
uint64_t server_log_lost(struct server *); /* since the last reset, as the values above */
void server_baseline(struct server *, struct server_baseline *);
#endif
