/* What all sessions of one server share. Built bottom-up by main, borrowed by everybody else;
 * nothing here owns a socket. */
#ifndef SLATE_SERVE_SERVER_H
#define SLATE_SERVE_SERVER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/lock.h"
#include "serve/access/users.h"
#include "serve/config/audit.h"
#include "serve/config/settings.h"
#include "serve/config/undo.h"
#include "serve/memory.h"
#include "serve/shared.h"
#include "tune/tune.h"
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

/* One line of `stats conns`, registered by net for each socket, listeners too. Fields are written
 * by the owner. */
struct conn_record {
    struct conn_record *next, **link; /* the registry's */
    uint64_t    number;           /* grows with each */
    int         fd;
    char        addr[128];        /* tcp:1.2.3.4:5, tcp6:[..]:p, unix:path */
    char        listen_addr[128]; /* empty on listeners */
    _Atomic(const char *) state;  /* conn_listening, conn_read, ... : a constant string */
    _Atomic uint32_t last_cmd_s;
};
/* Somebody's place among the records: the next to look at, whichever come and go. */
struct conn_cursor {
    const struct conn_record *at;  /* NULL: at the end */
    uint64_t                  end; /* the number before which it began: later ones are not for it */
    struct conn_cursor       *next, **link; /* the registry's */
};
struct conn_registry {
    struct lock         lock;
    struct conn_record *first, **last; /* last: where the next one is linked; server_init sets it */
    uint64_t            number;        /* of the next one */
    struct conn_cursor *cursors;
};
/* any thread, as the others */
void conn_cursor_begin(struct conn_registry *, struct conn_cursor *);
void conn_cursor_end(struct conn_registry *, struct conn_cursor *);
/* Under the registry's lock: the record, and the cursor goes on; NULL: there are no more. */
const struct conn_record *conn_cursor_next_locked(struct conn_cursor *);
void conn_registry_add(struct conn_registry *, struct conn_record *);    /* any thread */
void conn_registry_remove(struct conn_registry *, struct conn_record *);

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
enum server_shared { SERVER_SHARED_SIZEHIST, SERVER_SHARED_SIZES, SERVER_SHARED };

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
    /* STARTUP values are constant: read them without a lock. RUNTIME values belong to the lock
     * below: server_settings(). */
    struct settings     *settings;
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

    struct lock            lock; /* over RUNTIME settings, their version and the baseline */
    unsigned               settings_version;
    struct server_baseline baseline;
    struct settings        at_start; /* a copy of the settings: which were changed since? */
    struct audit           audit; /* has a lock of its own */
    struct undo            undo;  /* likewise */
    struct users           users; /* likewise */
    struct memory          memory; /* the limit of the process; main's thread tends it */
    bool                   file_gone; /* the memory file was removed; likewise */
    struct logins         *logins; /* by SASL; NULL: not there. Set before the first session */
    struct shared_answer   shared[SERVER_SHARED]; /* likewise */
};

/* `settings` is borrowed. The caller fills cache, tuner and the rest before the first session.
 * False: out of memory. */
bool server_init(struct server *, struct settings *);
void server_fini(struct server *);

/* Takes up the settings that a memory file's note tells (serve/config/kept.h), before anything is
 * built from the settings; `modes` says which modes of automove there are. */
void server_recall(struct server *, const struct memory_file *,
                   const struct automove_config *modes);

/* A consistent copy of all settings, RUNTIME ones as they are now. Any thread, no project lock
 * held. */
void server_settings(struct server *, struct settings *copy);
/* Makes every RUNTIME value in which `to` differs from `from` the server's, tells whoever owns it
 * (cache, tuner, log) and puts each change with its old value and with `who` wanted it into the
 * audit log. Two changes at once: both happen, of one value the later stays. False, and nothing
 * changed: the cache cannot have that memory limit, or the process that many files; `why`
 * (SETTING_WHY_BYTES) tells. */
bool server_change(struct server *, const char *who, const struct settings *from,
                   const struct settings *to, char *why);
/* Takes back the last change that server_change or a change of policies made and that was not taken
 * back yet. 1: `said` tells what is as before; 0: there is none; -1: it cannot be, `said` tells
 * why, and it stays the last. */
int server_undo(struct server *, const char *who, char said[UNDO_SAID_BYTES]);
/* Puts into a copy of the settings what the next undo would make of them. */
void server_undo_settings(struct server *, struct settings *to);

/* One limit for the memory of the process (serve/memory.h). Once, before the first session; false:
 * it leaves too little for items, and `why` (SETTING_WHY_BYTES) tells. */
bool server_memory_begin(struct server *, char *why);
/* every MEMORY_LOOK_US, main's thread */
void server_memory_look(struct server *);
/* any thread */
void server_memory_facts(struct server *, struct memory_facts *);

/* Whether clients have to say who they are. */
static inline bool server_wants_login(const struct server *server) {
    return server->users.path != NULL || server->logins != NULL;
}

/* For tune_config.on_failure, with the server: the setting becomes `now`, too. */
void server_automove_failed(void *server, const char *mode, const char *now, const char *why);
/* For tune_config.on_came, with the server: an entry of the audit. */
void server_prediction_came(void *server, const char *words);

/* Asks main to end the server; SERVER_STOP_GRACEFUL lets clients have what they asked for. Any
 * thread. */
void server_request_stop(struct server *, enum server_stop);
/* Asks main to read files again. Any thread, and signal handlers. */
void server_request_reload(struct server *);

/* Asks main to start the process that takes over. Likewise. */
void server_request_takeover(struct server *);

/* Reads the files again, if that was asked for: certificates, users. Main's thread. */
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
void server_reset_counters(struct server *);
#endif
