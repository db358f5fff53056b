/* slated: reads options, builds the rooms from the bottom up, runs, and tears them down in reverse.
 * Only main exits. */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/key.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "net/arrive.h"
#include "net/net.h"
#include "net/probe.h"
#include "serve/access/logins.h"
#include "serve/check.h"
#include "serve/config/environment.h"
#include "serve/config/kept.h"
#include "serve/config/options.h"
#include "serve/filter.h"
#include "serve/notify.h"
#include "serve/process.h"
#include "serve/config/slab_sizes.h"
#include "serve/stats/stats.h"
#include "serve/version.h"
#include "simulate/simulate.h"
#include "tune/whatif/auto.h"

static struct settings settings;
static struct server   server;
static struct arrival  arrival = {
    .fd = -1, .memory_fd = -1, .handover_fd = -1, .succession = {.fd = -1}}; /* of --takeover */

enum { MANY_THREADS = 64 };

/* --- signals: async-signal-safe, on any thread --- */

static void on_signal(int number) {
    int kept = errno;
    if (number == SIGHUP) {
        server_request_reload(&server);
    } else if (number == SIGUSR2) {
        server_request_takeover(&server);
    } else {
        server_request_stop(&server, number == SIGUSR1 ? SERVER_STOP_GRACEFUL : SERVER_STOP);
    }
    errno = kept;
}

/* Held back while the server is built, so that one that comes early ends it cleanly; and threads
 * never get them. */
static void hold_signals(sigset_t *held) {
    signal(SIGPIPE, SIG_IGN); /* a client that hangs up is found by its send */
    signal(SIGXFSZ, SIG_IGN); /* a log or record that may not grow is found by its write */
    sigemptyset(held);
    sigaddset(held, SIGHUP);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    sigaddset(held, SIGUSR1);
    sigaddset(held, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, held, NULL);
}

static void take_signals(const sigset_t *held) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(held, number) == 1) {
            sigaction(number, &action, NULL);
        }
    }
    pthread_sigmask(SIG_UNBLOCK, held, NULL);
}

/* --- what each room is told --- */

static struct cache *make_cache_in(const struct settings *s, struct memory_file *taken,
                                   char *refused) {
    struct slab_sizes sizes = {.count = 0};
    char why[SETTING_WHY_BYTES];
    /* Values that are copied are never chained, however small the chunks asked for. */
    uint32_t chunk_bytes_max =
        s->slab_chunk_max < SLAB_CHUNK_MAX_CALM ? SLAB_CHUNK_MAX_CALM : (uint32_t)s->slab_chunk_max;
    bool listed = s->slab_sizes && slab_sizes_parse(s->slab_sizes, chunk_bytes_max,
                                                    (unsigned)s->slab_classes, &sizes, why);
    return cache_create(&(struct cache_config){
        .limit_bytes = s->maxbytes,
        .limit_bytes_most = process_machine_memory(),
        .store = cache_store_find(s->store),
        .block_bytes = (uint32_t)s->block_size,
        .index = index_kind_find(s->index),
        .partitions = (unsigned)s->partitions,
        .threads = (unsigned)s->threads,
        .slab = {.chunk_bytes_min = (uint32_t)s->chunk_size + SLAB_HEADER_ROOM,
                 .growth_factor = s->factor,
                 .sizes = listed ? sizes.bytes : NULL,
                 .size_count = sizes.count,
                 .chunk_bytes_max = chunk_bytes_max,
                 .class_most = (unsigned)s->slab_classes},
        .item_bytes_max = (uint32_t)s->item_size_max,
        .cas = s->cas,
        .evict = s->evict_to_free,
        .steal_pages = s->slab_reassign,
        .huge_pages = true,
        .patience_us = CACHE_PATIENCE_US,
        .policy = auto_policy(s->policy, NULL),
        .hot_pct = (uint32_t)s->hot_lru_pct,
        .warm_pct = (uint32_t)s->warm_lru_pct,
        .hot_factor_pct = (uint32_t)(s->hot_max_factor * 100 + 0.5),
        .warm_factor_pct = (uint32_t)(s->warm_max_factor * 100 + 0.5),
        .temporary_ttl_s = s->temp_lru ? s->temporary_ttl : -1,
        .memory_file = taken,
        .taken = s->takeover ? &arrival.facts : NULL,
        .why = refused,
        .policy_of_file = !evict_find(s->policy), /* auto goes on from where it was */
        .process_bytes = s->process_memory,
    });
}

/* For a simulation, which leaves no items. */
static struct cache *make_cache(const struct settings *s) { return make_cache_in(s, NULL, NULL); }

static const char *policy_dir(const struct settings *s) {
    static char dir[1100]; /* the tuner keeps it */
    return process_policy_dir(s, dir, sizeof dir);
}

/* The memory file, and with it the settings that were changed while an earlier process ran. False:
 * says why not. */
static bool open_memory_file(struct memory_file **file) {
    char refused[MEMORY_WHY_BYTES];
    if (settings.memory_file == NULL && settings.takeover_socket == NULL) {
        return true;
    }
    if (settings.takeover) {
        int fd = arrival.memory_fd;
        arrival.memory_fd = -1;
        *file = memory_file_borrow(
            fd, settings.memory_file != NULL ? settings.memory_file : "memory", refused);
    } else {
        *file = settings.memory_file != NULL ? memory_file_open(settings.memory_file, refused)
                                             : memory_file_nameless(refused);
    }
    if (*file == NULL) {
        log_error("%s", refused);
    } else {
        server_recall(&server, *file,
                      &(struct automove_config){.policy_dir = policy_dir(&settings)});
    }
    return *file != NULL;
}

/* The server's, and says why not. */
static struct cache *open_cache(const struct settings *s, struct memory_file *taken) {
    char refused[CACHE_WHY_BYTES] = "";
    struct cache *cache = make_cache_in(s, taken, refused);
    if (cache == NULL && refused[0] != '\0') {
        log_error("%s", refused);
    } else if (cache == NULL) {
        log_error("cannot have a cache of %llu bytes: %s", (unsigned long long)s->maxbytes,
                  strerror(errno));
    }
    return cache;
}

static struct tuner *make_tuner(const struct settings *s, struct cache *cache) {
    return tuner_create(cache, &(struct tune_config){
                                   .automove = s->slab_automove,
                                   .policy_dir = policy_dir(s),
                                   .record = s->automove_record,
                                   .on_failure = server_automove_failed,
                                   .on_failure_arg = &server,
                                   .ratio = s->slab_automove_ratio,
                                   .window_s = (unsigned)s->slab_automove_window,
                                   .geometry_rate_pct = s->slab_geometry_rate,
                                   .geometry_auto = s->slab_geometry_auto,
                                   .sample_rate = s->sample_rate,
                                   .sample_follow = !evict_find(s->policy),
                                   .worker_count = (unsigned)s->threads,
                                   .reassign = s->slab_reassign,
                                   .sweeps = s->lru_maintainer,
                                   .crawler = s->lru_crawler,
                                   .crawler_sleep_us = (uint32_t)s->lru_crawler_sleep,
                                   .crawler_tocrawl = (uint32_t)s->lru_crawler_tocrawl,
                                   .rests = s->takeover,
                               });
}

static struct net *make_net(const struct settings *s) {
    const struct tls_config tls = {
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
    return net_open(&server,
                     &(struct net_config){
                         .listen = s->inter,
                         .tls = s->ssl_enabled ? &tls : NULL,
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
                         .handover_fd = arrival.handover_fd,
                         .handed = s->takeover ? &arrival.sockets : NULL,
                         .rests = s->takeover,
                         .port_file = getenv("MEMCACHED_PORT_FILENAME"),
                         .tell_starting = s->memory_file && strcmp(s->starting, "answer") == 0,
                     });
}

/* --- a server's life --- */

/* With -vv, in memcached's lines. */
static void say_classes(struct cache *cache) {
    const struct slab *slab = cache_slab(cache);
    for (unsigned id = 1; id <= slab->class_count; id++) {
        const struct slab_class *class = &slab->classes[id];
        log_bare(LOG_LEVEL_DEBUG, "slab class %3u: chunk size %9u perslab %7u", id,
                 class->chunk_bytes, class->chunks_per_page);
    }
}

/* Once all is built, and before anyone is told so. */
static int drop_privileges(void) {
    int failed = settings.drop_privileges
                     ? filter_system_calls(&(struct filter_needs){.plugins = settings.sasl})
                     : 0;
    if (failed) {
        log_error("cannot filter system calls, which -o drop_privileges asks for: %s",
                  strerror(failed));
    }
    return failed ? EX_OSERR : EXIT_SUCCESS;
}

static struct metrics *make_metrics(struct net *net) {
    struct net_companion with;
    struct metrics *metrics =
        metrics_start(&server, &(struct metrics_config){
                                   .address = settings.metrics,
                                   .open_to_all = settings.public,
                                   .handed = settings.takeover ? &arrival.sockets : NULL,
                                   .rests = settings.takeover,
                               });
    if (metrics != NULL) {
        metrics_companion(metrics, &with);
        net_go_along(net, &with);
    }
    return metrics;
}

static int serve(struct net *net, const sigset_t *held) {
    struct metrics *metrics = NULL;
    if (settings.metrics && !(metrics = make_metrics(net))) {
        net_stop(net, false);
        return EX_OSERR;
    }
    process_lock_memory(&settings);
    int status = drop_privileges();
    if (status == EXIT_SUCCESS && settings.takeover && !net_arrive(net, &arrival)) {
        status = EX_UNAVAILABLE;
    }
    if (status != EXIT_SUCCESS) {
        metrics_stop(&metrics);
        net_stop(net, false);
        return status;
    }
    int before = arrival.pid;
    arrive_end(&arrival);
    if (metrics && settings.takeover) {
        metrics_go_on(metrics);
    }
    take_signals(held);
    kept_settings_write(server.cache, &server.at_start, &settings);
    if (settings.pidfile) {
        process_pidfile_write(settings.pidfile, before);
    }
    log_info("slated " SLATE_VERSION " serves: memory=%llu threads=%d policy=%s",
             (unsigned long long)settings.maxbytes, settings.threads,
             cache_policy(server.cache)->name);
    process_ready(&settings);
    notify_ready();
    enum server_stop how = net_run(net);
    int next;
    if (net_left(net, &next)) {
        notify_main(next);
        metrics_stop(&metrics);
        net_stop(net, false);
        return EXIT_SUCCESS;
    }
    notify_stopping();
    log_info("stopping%s", how == SERVER_STOP_GRACEFUL ? " gracefully" : "");
    metrics_stop(&metrics);
    net_stop(net, how == SERVER_STOP_GRACEFUL);
    if (settings.pidfile) {
        process_pidfile_remove(settings.pidfile);
    }
    return EXIT_SUCCESS;
}

/* Those who may log in, by a file and by SASL. False: says why there are none. */
static bool load_logins(void) {
    char users_why[USERS_WHY_BYTES];
    const char *no_logins;
    if (server.users.path && !users_load(&server.users, users_why)) {
        log_error("%s", users_why);
        return false;
    }
    if (settings.sasl && (server.logins = logins_create(&no_logins)) == NULL) {
        log_error("cannot have logins by SASL: %s", no_logins);
        return false;
    }
    return true;
}

/* The cache, with what is in a memory file, and what tunes it. False: says why not. */
static bool build_cache(void) {
    struct memory_file *file = NULL;
    if (!open_memory_file(&file) || !(server.cache = open_cache(&settings, file))) {
        return false;
    }
    if (cache_store_kind(server.cache) == CACHE_STORE_SLAB) {
        say_classes(server.cache);
    }
    server.tuner = make_tuner(&settings, server.cache);
    if (!server.tuner) {
        log_error("cannot start the tuner%s%s: %s",
                  settings.automove_record ? ", which writes " : "",
                  settings.automove_record ? settings.automove_record : "", strerror(errno));
    }
    return server.tuner != NULL;
}

/* What was built, in reverse. */
static void tear_down(struct net *net) {
    arrive_end(&arrival);
    if (net) {
        net_destroy(&net);
    }
    if (server.tuner) {
        tuner_destroy(&server.tuner);
    }
    cache_destroy(&server.cache);
    logins_destroy(&server.logins);
    server_fini(&server);
}

static int build_and_serve(void) {
    int status = EX_OSERR;
    sigset_t held;
    struct net *net = NULL;
    char why[REASON_BYTES], memory_why[SETTING_WHY_BYTES];
    hold_signals(&held);
    const struct automove_config modes = {.policy_dir = policy_dir(&settings)};
    if (!automove_check(&modes, settings.slab_automove, why)) {
        log_error("-o slab_automove=%s: %s", settings.slab_automove, why);
        return EX_USAGE;
    }
    if (!server_init(&server, &settings)) {
        log_error("cannot start: out of memory");
        return EX_OSERR;
    }
    server.event_version = event_get_version();
    if (!load_logins()) {
        status = EXIT_FAILURE;
        goto done;
    }
    if (settings.takeover && !arrive_begin(&arrival, settings.takeover_socket)) {
        status = EX_UNAVAILABLE;
        goto done;
    }
    if (settings.takeover) {
        key_hash_set_secret(arrival.secret);
    }
    /* Taking up what is in a memory file may last: clients find somebody meanwhile, unless another
     * process serves them. What the network could not have it says itself, as below. */
    if (settings.memory_file && !settings.takeover && !(net = make_net(&settings))) {
        goto done;
    }
    if (!build_cache()) {
        goto done;
    }
    if (!server_memory_begin(&server, memory_why)) {
        log_error("%s", memory_why);
        status = EX_USAGE;
        goto done;
    }
    net = net ? net : make_net(&settings); /* says itself what it could not have */
    arrival.handover_fd = net ? -1 : arrival.handover_fd;
    if (net && net_begin(net)) {
        status = serve(net, &held);
    }
done:
    tear_down(net);
    return status;
}

/* Rarely says anything, but by itself it would write to stderr, and wait for it, from a worker. */
static void on_event_log(int severity, const char *message) {
    log_line(severity >= EVENT_LOG_WARN ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, "libevent: %s",
             message);
}

static int log_and_serve(void) {
    if (!log_start()) {
        log_error("cannot start the thread that writes the log: %s", strerror(errno));
        return EX_OSERR;
    }
    event_set_log_callback(on_event_log);
    int status = build_and_serve();
    log_stop();
    return status;
}

/* Options of memcached's that mean nothing here, each with the reason. */
static void say_in_vain(void) {
    if (settings.logfile_named) {
        log_warn("logfile is accepted without effect: the log goes to standard error");
    }
    for (size_t i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i];
        if (settings.given_in_vain[i]) {
            log_warn("%s%s is %s", row->flag == OPT_EXTENDED ? "-o " : "--", row->name, row->help);
        }
    }
}

static int run(void) {
    bool parent;
    clock_start();
    if (!key_hash_draw()) {
        log_error("cannot draw the secret of the hash: %s", strerror(errno));
        return EX_OSERR;
    }
    log_set_verbosity(settings.verbosity);
    if (settings.threads > MANY_THREADS) {
        log_warn("%d worker threads are many: more than there are processors do not help",
                 settings.threads);
    }
    say_in_vain();
    int status = process_limits(&settings);
    if (status == 0) {
        status = process_drop_root(&settings);
    }
    if (status == 0) {
        status = process_background(&settings, &parent);
        if (status == 0 && !parent) {
            status = log_and_serve();
        }
    }
    return status;
}

static void help(void) {
    printf("slated " SLATE_VERSION ": a cache daemon that speaks memcached's protocol\n\n"
           "Usage: slated [option ...]\n\n");
    settings_help(stdout);
    printf("\nslated --simulate TRACE replays a trace instead of serving; with --help it tells its "
           "options.\n");
    printf("\nSub-options of -o may follow each other with commas. slated(8) says more.\n");
}

int main(int argc, char **argv) {
    char why[OPTIONS_WHY_BYTES];
    process_note_start(argv);
    if (process_stdio() != 0) {
        return EX_OSERR;
    }
    log_to_journal();
    if (simulate_is_wanted(argc, argv)) {
        return simulate_run(argc, argv, make_cache, stdout);
    }
    if (probe_is_wanted(argc, argv)) {
        return probe_run(argc, argv, stdout);
    }
    if ((argv = process_words(argc, argv)) == NULL) {
        fprintf(stderr, "slated: out of memory\n");
        return EX_OSERR;
    }
    const char *more = getenv(ENVIRONMENT_OPTIONS);
    if (more && (argv = environment_arguments(more, &argc, argv, why)) == NULL) {
        fprintf(stderr, "slated: %s\n", why);
        return EX_USAGE;
    }
    switch (options_parse(argc, argv, &settings, why)) {
    case OPTIONS_HELP:
        help();
        return EXIT_SUCCESS;
    case OPTIONS_LICENSE:
        printf("%s\nUses libevent %s.\n", version_license, event_get_version());
        return EXIT_SUCCESS;
    case OPTIONS_VERSION:
        printf("slated " SLATE_VERSION " (memcached " SLATE_PROTOCOL_VERSION " compatible)\n");
        return EXIT_SUCCESS;
    case OPTIONS_DESCRIBE:
        settings_describe(stdout);
        return EXIT_SUCCESS;
    case OPTIONS_DESCRIBE_COUNTERS:
        stats_describe_counters(stdout);
        return EXIT_SUCCESS;
    case OPTIONS_CHECK:
        if (!check_settings(&settings, why)) {
            fprintf(stderr, "slated: %s\n", why);
            return EX_USAGE;
        }
        printf("slated: these options are good\n");
        return EXIT_SUCCESS;
    case OPTIONS_BAD:
        fprintf(stderr, "slated: %s\n", why);
        return EX_USAGE;
    case OPTIONS_RUN:
        break;
    }
    return run();
}
