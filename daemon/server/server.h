/* The state that all sessions of one server share. main builds and owns it, all other rooms borrow
 * it. Owns no socket. */
#ifndef SLATE_SERVER_SERVER_H
#define SLATE_SERVER_SERVER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/lock.h"
#include "control/tuner.h"
#include "server/auth/users.h"
#include "server/coalesced_reply.h"
#include "server/config/audit.h"
#include "server/config/settings.h"
#include "server/config/undo.h"
#include "server/conn_registry.h"
#include "server/memory_limit.h"
#include "server/published.h"
#include "watch/watcher.h"

/* Counters of sessions and connections, one set a worker. The statistics of the same name document
 * them (stats_general.c, stats_slated.c). */
#define SERVE_COUNTERS(X) \
    X(cmd_flush) X(cmd_meta) X(bytes_read) X(bytes_written) X(conn_yields) \
    X(uploads_waited) X(uploads_timed_out) X(idle_kicks) X(read_buf_oom) X(response_obj_oom) \
    X(auth_cmds) X(auth_errors) X(role_refusals) \
    X(udp_datagrams) X(udp_dropped) X(udp_refused) X(udp_lost) \
    X(batches) X(requests)
struct serve_counters { SERVE_COUNTERS(COUNTER_MEMBER) };
struct serve_values { SERVE_COUNTERS(COUNTER_VALUE) };

enum { SERVER_WORKERS_MAX = 128 };

/* Facts about connections; written by net with relaxed atomics, read by stats. */
struct server_conns {
    /* settings that net reads: the most connections; whether one more gets an error or waits; when
     * an idle one is closed, 0: never */
    _Atomic uint32_t maxconns, idle_timeout_s;
    _Atomic bool     maxconns_fast;
    /* structures: connection objects that exist */
    _Atomic uint64_t current, total, rejected, structures;
    _Atomic uint64_t listen_disabled_num, listen_disabled_us;
    _Atomic uint64_t buffer_count, buffer_bytes, buffer_free_bytes; /* workers' read buffers */
    _Atomic uint64_t reply_count, reply_bytes; /* connections with unread replies, their bytes */
    _Atomic bool     accepting;
};

enum { SERVER_TLS_WHY_BYTES = 512 };

/* Written by net, read by stats and by requests to reload. */
struct server_tls {
    _Atomic uint64_t handshake_errors, proto_errors, new_sessions;
    _Atomic uint32_t loaded_s; /* when the certificates were read */
    /* reads the certificates again; false: the old ones stay, and `why` holds the reason. NULL:
     * there is no TLS */
    bool           (*reload)(void *, char why[SERVER_TLS_WHY_BYTES]);
    void            *reload_arg;
};

struct prefix_stats;
struct logins;

/* Replies that are made once for all clients that wait (coalesced_reply.h). */
enum server_coalesced { SERVER_COALESCED_SIZEHIST, SERVER_COALESCED_SIZES, SERVER_COALESCED_COUNT };

/* SERVER_HAND_OVER: another process is built and takes over */
enum server_stop { SERVER_RUN, SERVER_STOP, SERVER_STOP_GRACEFUL, SERVER_HAND_OVER };

/* Values at the last `stats reset`. Statistics subtract them, since only its owner writes a
 * counter. */
struct server_baseline {
    struct serve_values serve;
    struct tuner_facts  tune; /* counters of the control room */
    struct watch_facts  watch;
    uint64_t            conns_total, conns_rejected, listen_disabled_num, listen_disabled_us;
    uint64_t            handshake_errors, proto_errors, new_sessions; /* TLS */
    uint64_t            log_lost;
};

struct server {
    struct settings      at_start; /* the settings of the start; STARTUP values are constant */
    struct published     settings; /* the settings in force; server_settings copies them */
    struct cache        *cache;
    struct tuner        *tuner;
    struct prefix_stats *prefixes; /* `stats detail`; made by server_init */
    const char          *event_version; /* version of libevent, for stats; a constant */
    struct server_conns  conns;
    struct server_tls    tls;
    struct conn_registry registry;
    struct serve_counters *workers[SERVER_WORKERS_MAX]; /* set before the worker starts */
    unsigned             worker_count;
    _Atomic int          stop;      /* enum server_stop; the shutdown command sets it */
    _Atomic bool         reload;    /* SIGHUP: files are to be read again */
    _Atomic bool         takeover;  /* SIGUSR2: the next process is to be started */
    void               (*on_stop)(void *); /* wakes main's loop after stop, reload, takeover */
    void *_Atomic        on_stop_arg;      /* set after on_stop; NULL: there is no loop */

    struct published       baseline; /* a struct server_baseline */
    struct users           users; /* has its own lock */
    struct logins         *logins; /* logins by SASL; NULL: off. Set before the first session */
    struct coalesced_reply   coalesced[SERVER_COALESCED_COUNT]; /* have their own locks */

    /* The control thread owns the fields below. */
    struct audit           audit;
    struct undo            undo;
    struct memory_limit          memory;
    struct control_task    memory_task;      /* adjusts the limit */
    bool                   file_gone; /* the memory file was removed */
    struct serve_counters  orders;    /* counters of orders */
};

/* Copies the settings. The caller sets the other fields, such as cache and tuner, before the first
 * session. False: out of memory. */
bool server_init(struct server *, const struct settings *);
void server_fini(struct server *);

/* Copies the settings in force. Any thread. */
void server_settings(struct server *, struct settings *copy);
/* Passes the settings of connections to net. */
void server_set_conns(struct server *, const struct settings *);
static inline struct control *server_control(const struct server *server) {
    return tuner_control(server->tuner);
}

/* Posts an order that calls `run` on the control thread, and does not wait. Any thread. */
void server_post(struct server *, void (*run)(struct server *));
/* Waits until the control thread has run all orders, so that what orders use may be destroyed.
 * Main's thread, once no session runs. */
void server_await_orders(struct server *);

/* --- what follows is for the control thread (control/control.h): within orders and tasks --- */

/* The settings in force, until the next change. */
static inline const struct settings *server_settings_now(const struct server *server) {
    return published_now(&server->settings);
}
void server_reset_counters(struct server *);

/* --- for main --- */

/* Puts the limit for the memory of the process in force (server/memory_limit.h); the control thread
 * adjusts it from then on. Called once, before the first session. False: the limit leaves too
 * little for items, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool server_memory_begin(struct server *, char *why);
void server_memory_facts(struct server *, struct memory_facts *); /* any thread */

/* Whether clients have to log in. */
static inline bool server_wants_login(const struct server *server) {
    return server->users.path != NULL || server->logins != NULL;
}

/* Requests that main end the server. SERVER_STOP_GRACEFUL: clients get their pending replies first.
 * Any thread, and signal handlers. */
void server_request_stop(struct server *, enum server_stop);
/* Requests that main read files again. Any thread, and signal handlers. */
void server_request_reload(struct server *);

/* Requests that main start the process that takes over. Any thread, and signal handlers. */
void server_request_takeover(struct server *);

/* Posts the reading of certificates and users, if a reload was requested. Main's thread. */
void server_reload(struct server *);

/* The highest class id that a command may name: memcached's 63, or more if there are more
 * classes. */
static inline unsigned server_class_last(const struct server *server) {
    unsigned count = cache_slab(server->cache)->class_count;
    return count > SLAB_CLASSES_AT_START ? count : SLAB_CLASSES_AT_START;
}

/* Sums over the workers since the last reset. */
void server_values(struct server *, struct serve_values *);
uint64_t server_log_lost(struct server *); /* since the last reset, as the values above */
void server_baseline(struct server *, struct server_baseline *);
#endif
