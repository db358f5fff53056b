#include "server/server.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/prefix_stats.h"

enum { SERVE_COUNTER_COUNT = sizeof(struct serve_values) / sizeof(uint64_t) };

/* Relaxed stores are enough: net reads each value alone. A thread that still reads an old value
 * accepts or closes a connection as just before the change. */
void server_set_conns(struct server *server, const struct settings *s) {
    struct server_conns *conns = &server->conns;
    atomic_store_explicit(&conns->maxconns, (uint32_t)s->maxconns, memory_order_relaxed);
    atomic_store_explicit(&conns->maxconns_fast, s->maxconns_fast, memory_order_relaxed);
    atomic_store_explicit(&conns->idle_timeout_s, (uint32_t)s->idle_timeout, memory_order_relaxed);
}

bool server_init(struct server *server, const struct settings *settings) {
    struct server_baseline none;
    memset(server, 0, sizeof *server);
    memset(&none, 0, sizeof none);
    server->at_start = *settings;
    server->event_version = "none";
    users_init(&server->users, settings_auth_file(settings));
    for (unsigned i = 0; i < SERVER_COALESCED_COUNT; i++) {
        coalesced_reply_init(&server->coalesced[i]);
    }
    conn_registry_init(&server->registry);
    server->prefixes = prefix_stats_create(settings->prefix_delimiter[0], settings->detail_enabled);
    if (!server->prefixes || !published_init(&server->settings, settings, sizeof *settings) ||
        !published_init(&server->baseline, &none, sizeof none)) {
        server_fini(server);
        return false;
    }
    watch_init(settings->worker_logbuf_size, settings->watcher_logbuf_size);
    log_set_verbosity(settings->verbosity);
    server_set_conns(server, settings);
    return true;
}

void server_fini(struct server *server) {
    watch_fini();
    memory_end(&server->memory);
    prefix_stats_destroy(&server->prefixes);
    undo_fini(&server->undo);
    users_fini(&server->users);
    for (unsigned i = 0; i < SERVER_COALESCED_COUNT; i++) {
        coalesced_reply_fini(&server->coalesced[i]);
    }
    published_fini(&server->settings);
    published_fini(&server->baseline);
    conn_registry_fini(&server->registry);
}

void server_settings(struct server *server, struct settings *copy) {
    published_copy(&server->settings, copy);
}

/* --- orders of main --- */

/* An order without arguments. */
struct server_errand {
    struct control_order order; /* first */
    struct server       *server;
    void               (*run)(struct server *);
};

static void server_errand_run(struct control_order *o, uint64_t now_us) {
    struct server_errand *e = (struct server_errand *)o;
    (void)now_us;
    e->run(e->server);
    control_order_answer(o);
}

static void server_errand_destroy(struct control_order *o) { free(o); }

/* NULL: out of memory. */
static struct server_errand *server_errand_create(struct server *server,
                                                  void (*run)(struct server *)) {
    struct server_errand *e = malloc(sizeof *e);
    if (e != NULL) {
        e->server = server;
        e->run = run;
        control_order_init(&e->order, server_errand_run, server_errand_destroy);
    }
    return e;
}

void server_post(struct server *server, void (*run)(struct server *)) {
    struct server_errand *e = server_errand_create(server, run);
    if (e == NULL) {
        log_warn("a change is left out: out of memory");
        return;
    }
    control_post(server_control(server), &e->order);
    control_order_release(&e->order);
}

static void server_run_nothing(struct server *server) { (void)server; }

static void server_order_answered(void *answered) { sem_post(answered); }

void server_await_orders(struct server *server) {
    struct server_errand *last =
        server->tuner != NULL ? server_errand_create(server, server_run_nothing) : NULL;
    sem_t answered;
    if (last == NULL) {
        return;
    }
    sem_init(&answered, 0, 0);
    future_wake(&last->order.future, server_order_answered, &answered);
    control_post(server_control(server), &last->order);
    while (sem_wait(&answered) != 0) { /* a signal */
    }
    future_wake(&last->order.future, NULL, NULL);
    control_order_release(&last->order);
    sem_destroy(&answered);
}

/* Logs once if the memory file was removed or replaced. */
static void server_check_memory_file(struct server *server) {
    const char *path = server->at_start.memory_file;
    struct stat st;
    if (path != NULL && !server->file_gone && fstat(cache_file(server->cache), &st) == 0 &&
        st.st_nlink == 0) {
        server->file_gone = true;
        log_warn("%s is in use and was removed: the next start has none of its items, unless "
                 "slatectl save and load carry them over",
                 path);
    }
}

static uint64_t server_adjust_memory(void *arg, uint64_t now_us) {
    struct server *server = arg;
    server_check_memory_file(server);
    memory_adjust_limit(&server->memory, server_settings_now(server), now_us);
    return now_us + MEMORY_ADJUST_US;
}

static void server_add_memory_task(struct server *server) {
    server->memory_task =
        (struct control_task){.run = server_adjust_memory, .arg = server, .timed = true};
    control_add(server_control(server), &server->memory_task);
}

bool server_memory_begin(struct server *server, char *why) {
    struct settings now;
    server_settings(server, &now);
    bool begun = memory_begin(&server->memory,
                              &(struct memory_sources){
                                  .cache = server->cache,
                                  .tuner = server->tuner,
                                  .buffer_bytes = &server->conns.buffer_bytes,
                                  .reply_bytes = &server->conns.reply_bytes,
                                  .connections = &server->conns.structures,
                              },
                              &now, why);
    if (begun) {
        server_post(server, server_add_memory_task);
    }
    return begun;
}

void server_memory_facts(struct server *server, struct memory_facts *facts) {
    struct settings now;
    server_settings(server, &now);
    memory_facts(&server->memory, &now, facts);
}

static void server_reload_files(struct server *server) {
    char why[SERVER_TLS_WHY_BYTES];
    if (server->tls.reload != NULL && !server->tls.reload(server->tls.reload_arg, why)) {
        log_warn("the certificates stay as they are: %s", why);
    }
    if (server->users.path != NULL && !users_load(&server->users, why)) {
        log_warn("the users stay as they are: %s", why);
    }
}

void server_reload(struct server *server) {
    if (atomic_exchange_explicit(&server->reload, false, memory_order_acquire)) {
        server_post(server, server_reload_files);
    }
}

/* May run in a signal handler, which may interrupt net_destroy: so one atomic pointer decides. */
static void server_wake_main(const struct server *server) {
    void *arg = atomic_load_explicit(&server->on_stop_arg, memory_order_acquire);
    if (arg) {
        server->on_stop(arg);
    }
}

void server_request_stop(struct server *server, enum server_stop how) {
    atomic_store_explicit(&server->stop, (int)how, memory_order_release);
    server_wake_main(server);
}

void server_request_reload(struct server *server) {
    atomic_store_explicit(&server->reload, true, memory_order_release);
    server_wake_main(server);
}

void server_request_takeover(struct server *server) {
    atomic_store_explicit(&server->takeover, true, memory_order_release);
    server_wake_main(server);
}

/* --- counters --- */

static void server_sum_workers(const struct server *server, struct serve_values *values) {
    memset(values, 0, sizeof *values);
    counter_sum((uint64_t *)values, (const struct counter *)&server->orders, SERVE_COUNTER_COUNT);
    for (unsigned i = 0; i < server->worker_count; i++) {
        counter_sum((uint64_t *)values, (const struct counter *)server->workers[i],
                    SERVE_COUNTER_COUNT);
    }
}

void server_baseline(struct server *server, struct server_baseline *copy) {
    published_copy(&server->baseline, copy);
}

void server_values(struct server *server, struct serve_values *values) {
    struct server_baseline base;
    server_sum_workers(server, values);
    server_baseline(server, &base);
    for (unsigned i = 0; i < SERVE_COUNTER_COUNT; i++) {
        ((uint64_t *)values)[i] -= ((const uint64_t *)&base.serve)[i];
    }
}

uint64_t server_log_lost(struct server *server) {
    struct server_baseline base;
    server_baseline(server, &base);
    return log_lost() - base.log_lost;
}

void server_reset_counters(struct server *server) {
    struct server_baseline base;
    memset(&base, 0, sizeof base);
    base.log_lost = log_lost();
    server_sum_workers(server, &base.serve);
    tuner_facts(server->tuner, &base.tune);
    watch_facts(&base.watch);
    base.conns_total = atomic_load_explicit(&server->conns.total, memory_order_relaxed);
    base.conns_rejected = atomic_load_explicit(&server->conns.rejected, memory_order_relaxed);
    base.listen_disabled_num =
        atomic_load_explicit(&server->conns.listen_disabled_num, memory_order_relaxed);
    base.listen_disabled_us =
        atomic_load_explicit(&server->conns.listen_disabled_us, memory_order_relaxed);
    base.handshake_errors =
        atomic_load_explicit(&server->tls.handshake_errors, memory_order_relaxed);
    base.proto_errors = atomic_load_explicit(&server->tls.proto_errors, memory_order_relaxed);
    base.new_sessions = atomic_load_explicit(&server->tls.new_sessions, memory_order_relaxed);
    published_set(&server->baseline, &base);
    cache_reset_counters(server->cache);
    prefix_stats_clear(server->prefixes);
}
