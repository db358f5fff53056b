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
#include "net/listen/probe.h"
#include "net/net.h"
#include "net/takeover/takeover_new.h"
#include "net/takeover/takeover_old.h"
#include "server/auth/logins.h"
#include "server/config/options.h"
#include "server/process/process.h"
#include "server/settings_change.h"
#include "server/start.h"
#include "server/stats/stats.h"
#include "server/process/syscall_filter.h"
#include "server/process/version.h"
#include "simulate/simulate.h"

static struct settings settings;
static struct server   server;
/* Descriptors inherited from the previous process (--takeover), or from this process itself after a
 * takeover that failed. */
static struct takeover_new arrival = TAKEOVER_NEW_NONE;

enum { MANY_THREADS = 64 };

/* --- signals: async-signal-safe, on any thread --- */

static void main_on_signal(int number) {
    int saved_errno = errno;
    if (number == SIGHUP) {
        server_request_reload(&server);
    } else if (number == SIGUSR2) {
        server_request_takeover(&server);
    } else {
        server_request_stop(&server, number == SIGUSR1 ? SERVER_STOP_GRACEFUL : SERVER_STOP);
    }
    errno = saved_errno;
}

/* Blocks the signals while the server is built: an early signal then ends the server cleanly, and
 * no other thread receives one. */
static void main_block_signals(sigset_t *held) {
    signal(SIGPIPE, SIG_IGN); /* send() reports a client that hung up */
    signal(SIGXFSZ, SIG_IGN); /* write() reports a log or record that may not grow */
    sigemptyset(held);
    sigaddset(held, SIGHUP);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    sigaddset(held, SIGUSR1);
    sigaddset(held, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, held, NULL);
}

static void main_handle_signals(const sigset_t *held) {
    struct sigaction action = {.sa_handler = main_on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(held, number) == 1) {
            sigaction(number, &action, NULL);
        }
    }
    pthread_sigmask(SIG_UNBLOCK, held, NULL);
}

/* --- building the rooms --- */

static void main_cache_config(const struct settings *s, struct memory_file *file, char *refused,
                              struct cache_config *config, struct slab_sizes *sizes) {
    start_cache_config(s, config, sizes);
    config->memory_file = file;
    config->why = refused;
}

static struct cache *main_create_cache_in(const struct settings *s, struct memory_file *taken,
                                          char *refused) {
    struct slab_sizes   sizes;
    struct cache_config config;
    main_cache_config(s, taken, refused, &config, &sizes);
    return cache_create(&config);
}

/* For a simulation, whose cache has no memory file. */
static struct cache *main_create_cache(const struct settings *s) {
    return main_create_cache_in(s, NULL, NULL);
}

static const char *main_policy_dir(const struct settings *s) {
    static char dir[1100]; /* the control thread borrows this text */
    return process_policy_dir(s, dir, sizeof dir);
}

/* Opens the memory file. A server that can be taken over has one even without -e. False: the reason
 * is logged. */
static bool main_open_memory_file(struct memory_file **file) {
    const char *path = settings.memory_file, *name = path ? path : "memory";
    char refused[MEMORY_WHY_BYTES];
    if (path == NULL && settings.takeover_socket == NULL) {
        return true;
    }
    *file = arrival.memory_fd >= 0 ? memory_file_of(arrival.memory_fd, name, refused)
            : path                 ? memory_file_open(path, refused)
                                   : memory_file_nameless(refused);
    arrival.memory_fd = -1;
    if (*file == NULL) {
        log_error("%s", refused);
    }
    return *file != NULL;
}

/* Takes over from the process that owns this memory file. False: the reason is logged. */
static bool main_take_over(struct memory_file *file) {
    char                refused[CACHE_WHY_BYTES];
    struct slab_sizes   sizes;
    struct cache_config config;
    if (settings.memory_file && !memory_file_is_at(file->fd, settings.memory_file)) {
        log_error("cannot take over: %s, which -e names, is not where the server that runs has its "
                  "items; stop that one and start this one",
                  settings.memory_file);
        return false;
    }
    main_cache_config(&settings, file, refused, &config, &sizes);
    if (!cache_fits_file(&config)) {
        log_error("cannot take over: %s", refused);
        return false;
    }
    return takeover_new_take_over(&arrival);
}

/* Creates the server's cache. NULL: the reason is logged. */
static struct cache *main_open_cache(const struct settings *s, struct memory_file *taken) {
    char refused[CACHE_WHY_BYTES] = "";
    struct cache *cache = main_create_cache_in(s, taken, refused);
    if (cache == NULL && refused[0] != '\0') {
        log_error("%s", refused);
    } else if (cache == NULL) {
        log_error("cannot have a cache of %llu bytes: %s", (unsigned long long)s->maxbytes,
                  strerror(errno));
    }
    return cache;
}

static struct tuner *main_create_control(const struct settings *s, struct cache *cache) {
    struct tuner_config config;
    start_control_config(s, &config);
    config.policy_dir = main_policy_dir(s);
    config.on_failure = settings_automove_failed;
    config.on_failure_arg = &server;
    config.on_prediction = settings_prediction_came;
    config.on_prediction_arg = &server;
    config.on_own_sizes = settings_own_sizes;
    config.on_own_sizes_arg = &server;
    return tuner_create(cache, &config);
}

static struct net *main_create_net(const struct settings *s) {
    struct tls_config tls;
    struct net_config config;
    net_config_of(s, &config, &tls);
    config.handover_fd = arrival.handover_fd;
    config.inherited = &arrival.sockets;
    config.answers_at_start = config.answers_at_start && arrival.memory_fd < 0;
    config.port_file = getenv("MEMCACHED_PORT_FILENAME");
    return net_find(&server, &config);
}

/* --- a server's life --- */

/* Filters system calls. Called once all is built, before the server reports that it is ready. */
static int main_drop_privileges(void) {
    static bool dropped; /* the filter cannot be removed, nor installed twice */
    int failed =
        settings.drop_privileges && !dropped
            ? syscall_filter_install(&(struct syscall_filter_needs){.plugins = settings.sasl})
            : 0;
    dropped = settings.drop_privileges;
    if (failed) {
        log_error("cannot filter system calls (-o drop_privileges): %s",
                  strerror(failed));
    }
    return failed ? EX_OSERR : EXIT_SUCCESS;
}

static struct metrics_config main_metrics_config(const struct settings *s) {
    return (struct metrics_config){
        .address = s->metrics,
        .open_to_all = s->public,
        .inherited = &arrival.sockets,
    };
}

static bool main_check_metrics(void) {
    const struct metrics_config config = main_metrics_config(&settings);
    return !settings.metrics || metrics_find(&config);
}

static struct metrics *main_start_metrics(struct net *net) {
    const struct metrics_config config = main_metrics_config(&settings);
    struct metrics *metrics = metrics_start(&server, &config);
    if (metrics != NULL) {
        net_add_handover_listeners(net, metrics_listeners(metrics));
    }
    return metrics;
}

/* Reports that this process serves: to the previous process, the pidfile, the log, the parent
 * process and the service manager. */
static void main_report_ready(struct net *net) {
    int before = arrival.pid;
    if (settings.takeover) {
        net_takeover_done(net);
        takeover_new_report_serving(&arrival);
    }
    takeover_new_end(&arrival);
    settings_save(&server);
    if (settings.pidfile) {
        process_pidfile_write(settings.pidfile, before);
    }
    log_info("slated " SLATE_VERSION " serves: memory=%llu threads=%d policy=%s",
             (unsigned long long)settings.maxbytes, settings.threads,
             cache_policy(server.cache)->name);
    process_drop_start_pages();
    process_ready(&settings);
    process_notify("READY=1");
}

/* Serves until the server ends, or until another process is to take over: *next then holds the
 * handover. */
static int main_serve(struct net *net, const sigset_t *held, struct takeover_old **next) {
    struct metrics *metrics = NULL;
    if (settings.metrics && !(metrics = main_start_metrics(net))) {
        return EX_OSERR;
    }
    process_lock_memory(&settings);
    int status = main_drop_privileges();
    if (status != EXIT_SUCCESS) {
        metrics_stop(&metrics);
        return status;
    }
    main_handle_signals(held);
    main_report_ready(net);
    enum server_stop how = net_run(net);
    metrics_stop(&metrics);
    if (how == SERVER_HAND_OVER) {
        net_stop(net, NET_HAND_OVER_GRACE_US);
        *next = takeover_old_detach(net);
        return EXIT_SUCCESS;
    }
    process_notify("STOPPING=1");
    log_info("stopping%s", how == SERVER_STOP_GRACEFUL ? " gracefully" : "");
    net_stop(net, how == SERVER_STOP_GRACEFUL ? NET_GRACE_US : 0);
    if (settings.pidfile) {
        process_pidfile_remove(settings.pidfile);
    }
    return EXIT_SUCCESS;
}

/* Creates the cache, in this memory file if there is one, the control thread and the limit of
 * memory. */
static int main_create_memory(struct memory_file *taken, bool only_check) {
    char why[SETTING_WHY_BYTES];
    if (taken) {
        settings_restore(&server, &settings, taken,
                         &(struct automove_config){.policy_dir = main_policy_dir(&settings)});
    }
    if (!(server.cache = main_open_cache(&settings, taken))) {
        return EX_OSERR;
    }
    if (!only_check && cache_store_kind(server.cache) == CACHE_STORE_SLAB) {
        start_log_classes(server.cache);
    }
    if (only_check) {
        settings.automove_record = NULL; /* --check-config creates no file */
    }
    server.tuner = main_create_control(&settings, server.cache);
    if (!server.tuner) {
        log_error("cannot start the control thread%s%s: %s",
                  settings.automove_record ? ", which writes " : "",
                  settings.automove_record ? settings.automove_record : "", strerror(errno));
        return EX_OSERR;
    }
    if (!server_memory_begin(&server, why)) {
        log_error("%s", why);
        return EX_USAGE;
    }
    return 0;
}

/* Destroys the rooms in reverse order. */
static void main_tear_down(struct net *net) {
    if (net) {
        net_destroy(&net);
    }
    if (server.tuner) {
        tuner_destroy(&server.tuner);
    }
    cache_destroy(&server.cache);
    /* the previous process takes the memory file back once this connection closes */
    takeover_new_end(&arrival);
    logins_destroy(&server.logins);
    server_fini(&server);
}

/* A stop that was requested during a takeover that failed still counts. */
static bool main_init_server(void) {
    int stop = atomic_load_explicit(&server.stop, memory_order_acquire);
    if (!server_init(&server, &settings)) {
        return false;
    }
    if (stop == SERVER_STOP || stop == SERVER_STOP_GRACEFUL) {
        server_request_stop(&server, (enum server_stop)stop);
    }
    server.event_version = event_get_version();
    return true;
}

/* Builds the server and serves. --check-config does the same, but it opens no port and no memory
 * file, takes over from no process, and ends where serving would begin. */
static int main_build_and_serve(bool only_check, struct takeover_old **next) {
    int status = EX_OSERR;
    sigset_t held;
    struct net *net = NULL;
    struct memory_file *file = NULL;
    if (!only_check) {
        main_block_signals(&held);
    }
    if (!main_init_server()) {
        log_error("cannot start: out of memory");
        return EX_OSERR;
    }
    if ((status = start_check_named(&settings)) != 0 ||
        (status = start_access(&server, only_check)) != 0) {
        goto done;
    }
    if (settings.takeover && !takeover_new_begin(&arrival, settings.takeover_socket)) {
        status = EX_UNAVAILABLE;
        goto done;
    }
    status = EX_OSERR;
    if (!(net = main_create_net(&settings))) { /* logs its own errors */
        goto done;
    }
    if (only_check && !(net_addresses_exist(net) && main_check_metrics())) {
        goto done;
    }
    /* Opens the ports before the items are recovered, which may take long: clients can connect
     * meanwhile. */
    if (!only_check && !net_open(net)) {
        goto done;
    }
    arrival.handover_fd = -1; /* net owns the descriptor now */
    if (!only_check && !main_open_memory_file(&file)) {
        goto done;
    }
    if (settings.takeover && !only_check && !main_take_over(file)) {
        memory_file_close(&file);
        status = EX_UNAVAILABLE;
        goto done;
    }
    if ((status = main_create_memory(file, only_check)) != 0 || only_check) {
        goto done;
    }
    status = net_begin(net) ? main_serve(net, &held, next) : EX_OSERR;
done:
    main_tear_down(net);
    return status;
}

/* Serves until the server is to end, or until another process serves in its place. */
static int main_serve_until_end(void) {
    for (;;) {
        struct takeover_old *next = NULL;
        int status = main_build_and_serve(false, &next);
        if (next == NULL) {
            return status;
        }
        int pid = takeover_old_hand_over(&next, &arrival);
        if (pid != 0) {
            char state[32];
            snprintf(state, sizeof state, "MAINPID=%d", pid);
            process_notify(state);
            return status;
        }
        settings = server.at_start; /* later changes are in the memory file */
        settings.takeover = false;
    }
}

/* libevent rarely logs. Its own logger would write to stderr from a worker, and block the
 * worker. */
static void main_on_event_log(int severity, const char *message) {
    log_line(severity >= EVENT_LOG_WARN ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, "libevent: %s",
             message);
}

static int main_log_and_serve(void) {
    if (!log_start()) {
        log_error("cannot start the thread that writes the log: %s", strerror(errno));
        return EX_OSERR;
    }
    event_set_log_callback(main_on_event_log);
    int status = main_serve_until_end();
    log_stop();
    return status;
}

static int main_begin(void) {
    clock_start();
    if (!key_hash_draw()) {
        log_error("cannot draw the secret of the hash: %s", strerror(errno));
        return EX_OSERR;
    }
    log_set_verbosity(settings.verbosity);
    if (settings.threads > MANY_THREADS) {
        log_warn("%d worker threads: threads beyond the number of processors do not help",
                 settings.threads);
    }
    start_report_ineffective(&settings);
    return process_limits(&settings);
}

static int main_run(void) {
    bool parent;
    int status = main_begin();
    if (status == 0) {
        status = process_drop_root(&settings);
    }
    if (status == 0) {
        status = process_background(&settings, &parent);
        if (status == 0 && !parent) {
            status = main_log_and_serve();
        }
    }
    return status;
}

/* Runs --check-config, as the user of -u where this is root. Root without -u may check for another
 * user, such as the user of a unit; a line then says that root needs -u to serve. */
static int main_check(void) {
    settings.takeover = false; /* the check needs no server to take over from */
    bool good = main_begin() == 0 && (!settings.user || process_drop_root(&settings) == 0) &&
                main_build_and_serve(true, NULL) == 0;
    if (good) {
        printf("slated: these options are good\n");
        start_print_need(&settings);
        if (geteuid() == 0 && !settings.user) {
            printf("slated: to serve as root give -u root, or better -u with another user\n");
        }
    }
    return good ? EXIT_SUCCESS : EX_USAGE;
}

int main(int argc, char **argv) {
    char why[OPTIONS_WHY_BYTES];
    process_save_argv(argv);
    if (process_stdio() != 0) {
        return EX_OSERR;
    }
    log_to_journal();
    if (simulate_is_wanted(argc, argv)) {
        return simulate_run(argc, argv, main_create_cache, stdout);
    }
    if (probe_is_wanted(argc, argv)) {
        return probe_run(argc, argv, stdout);
    }
    const char *more = getenv(OPTIONS_ENVIRONMENT);
    int command_line_words = argc;
    if ((argv = options_words(more ? more : "", &argc, argv, why)) == NULL) {
        fprintf(stderr, "slated: %s\n", why);
        return EX_USAGE;
    }
    switch (options_parse(argc, argv, argc - command_line_words, &settings, why)) {
    case OPTIONS_HELP:
        start_help(argv[0]);
        return EXIT_SUCCESS;
    case OPTIONS_LICENSE:
        printf("%s\nUses libevent %s.\n", version_license, event_get_version());
        return EXIT_SUCCESS;
    case OPTIONS_VERSION:
        start_version(argv[0], " (memcached " SLATE_PROTOCOL_VERSION " compatible)");
        return EXIT_SUCCESS;
    case OPTIONS_DESCRIBE:
        settings_describe(stdout);
        return EXIT_SUCCESS;
    case OPTIONS_DESCRIBE_COUNTERS:
        stats_describe_counters(stdout);
        return EXIT_SUCCESS;
    case OPTIONS_CHECK:
        return main_check();
    case OPTIONS_BAD:
        fprintf(stderr, "slated: %s\n", why);
        return EX_USAGE;
    case OPTIONS_RUN:
        break;
    }
    return main_run();
}
