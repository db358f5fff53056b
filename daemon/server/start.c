#include "server/start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rss.h"
#include "control/automove/automove.h"
#include "control/sampling/policy_auto.h"
#include "server/auth/cyrus.h"
#include "server/auth/logins.h"
#include "server/config/listen_list.h"
#include "server/memory_limit.h"
#include "server/process/process.h"
#include "server/settings_change.h"
#include "server/process/version.h"

static bool start_check_mode(const struct settings *s) {
    char reason[REASON_BYTES], dir[1100];
    const struct automove_config modes = {.policy_dir = process_policy_dir(s, dir, sizeof dir)};
    bool is = automove_check(&modes, s->slab_automove, reason);
    if (!is) {
        log_error("-o slab_automove=%s: %s", s->slab_automove, reason);
    }
    return is;
}

/* Whether the file can be opened or created. */
static bool start_may_write(const char *path, int how) {
    char folder[PATH_MAX];
    if (faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0) {
        return true;
    }
    if (errno != ENOENT) {
        return false;
    }
    snprintf(folder, sizeof folder, "%s", path);
    return faccessat(AT_FDCWD, dirname(folder), W_OK | X_OK, AT_EACCESS) == 0;
}

static bool start_check_file(const char *option, const char *path, int how) {
    struct stat there;
    if (path == NULL) {
        return true;
    }
    bool is_folder = stat(path, &there) == 0 && S_ISDIR(there.st_mode);
    if (is_folder) {
        errno = EISDIR;
    }
    if (is_folder || !start_may_write(path, how)) {
        log_error("%s %s: %s", option, path, strerror(errno));
        return false;
    }
    return true;
}

int start_check_named(const struct settings *s) {
    if (!start_check_mode(s)) {
        return EX_USAGE;
    }
    bool good = start_check_file("-e", s->memory_file, R_OK | W_OK) &&
                start_check_file("--automove-record", s->automove_record, W_OK);
    return good ? 0 : EX_OSERR;
}

static uint64_t start_round_up_mib(uint64_t bytes) {
    return (bytes + SETTINGS_MIB - 1) / SETTINGS_MIB;
}

void start_print_need(const struct settings *s) {
    uint64_t need = settings_memory_need(s),
             conns = (uint64_t)s->maxconns * settings_conn_bytes(s);
    if (s->process_memory > 0 && need > s->process_memory) {
        printf("slated: the process takes at most %" PRIu64 " MiB: -m %" PRIu64 " as far as its "
               "other parts leave that; for all of -m it needs %" PRIu64 " MiB\n",
               s->process_memory >> 20, s->maxbytes >> 20, start_round_up_mib(need));
        return;
    }
    printf("slated: the process needs at most %" PRIu64 " MiB: -m %" PRIu64 ", an eighth of that "
           "for the index, %" PRIu64 " for %d connections, the remainder for threads, buffers and "
           "slack\n",
           start_round_up_mib(need), s->maxbytes >> 20, start_round_up_mib(conns), s->maxconns);
}

/* Logs the control group's limit. If -m is a share of that memory, the limit is expected: no
 * warning. */
static void start_report_group(const struct settings *s) {
    struct settings least = *s;
    least.maxbytes = MEMORY_ITEMS_MIN_BYTES;
    bool exceeds = settings_memory_need(&least) > s->process_memory;
    log_line(s->maxbytes_share && !exceeds ? LOG_LEVEL_INFO : LOG_LEVEL_WARN,
             "-m %" PRIu64 " and the other parts may take %" PRIu64 " MiB, more than the %" PRIu64
             " MiB of the control group: items get what these parts leave, at least %d MiB%s "
             "(process_memory=0: no limit)",
             s->maxbytes >> 20, start_round_up_mib(settings_memory_need(s)),
             s->process_memory >> 20, MEMORY_ITEMS_MIN_BYTES >> 20,
             exceeds ? "; connections may take the process beyond that limit: give a smaller -c "
                       "or read_buf_mem_limit, or the group more memory"
                     : "");
}

void start_report_ineffective(const struct settings *s) {
    if (s->group_limits) {
        start_report_group(s);
    }
    if (s->group_is_too_small) {
        log_warn("the control group has less than %d MiB, the least process_memory: slated does "
                 "not keep its limit",
                 (int)(SETTINGS_PROCESS_MEMORY_MIN >> 20));
    }
    if (s->stray != NULL) {
        log_warn("\"%s\" belongs to no option; %s ignored, as in memcached", s->stray,
                 s->stray_count > 1 ? "it and the words like it are" : "it is");
    }
    if (s->logfile_named) {
        log_warn("logfile is accepted without effect: the log goes to standard error");
    }
    if (s->udp_in_vain) {
        log_warn("UDP is off: -U does not go with %s",
                 s->socketpath ? "-s" : "-Z, because datagrams carry no TLS");
    }
    for (size_t i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i];
        if (s->given_in_vain[i]) {
            log_warn("%s%s is %s", row->flag == OPT_EXTENDED ? "-o " : "--", row->name, row->help);
        }
        if (s->given_empty[i]) {
            log_warn("%s%s has an empty value: it is as if it were not given",
                     row->flag == OPT_EXTENDED ? "-o " : "--", row->name);
        }
    }
}

void start_cache_config(const struct settings *s, struct cache_config *config,
                        struct slab_sizes *sizes) {
    char why[SETTING_WHY_BYTES];
    /* A value that is small enough to be copied is never chained, however small slab_chunk_max
     * is. */
    uint32_t chunk_bytes_max = s->slab_chunk_max < SLAB_CHUNK_MAX_LOCKFREE
                                   ? SLAB_CHUNK_MAX_LOCKFREE
                                   : (uint32_t)s->slab_chunk_max;
    *sizes = (struct slab_sizes){.count = 0};
    bool listed = s->slab_sizes && settings_parse_slab_sizes(s->slab_sizes, chunk_bytes_max,
                                                             (unsigned)s->slab_classes, sizes, why);
    *config = (struct cache_config){
        .limit_bytes = s->maxbytes,
        .limit_bytes_most = rss_machine_bytes(),
        .store = cache_store_find(s->store),
        .block_bytes = (uint32_t)s->block_size,
        .index = index_kind_find(s->index),
        .partitions = (unsigned)s->partitions,
        .threads = (unsigned)s->threads,
        .slab = {.chunk_bytes_min = (uint32_t)s->chunk_size + SLAB_HEADER_ROOM,
                 .growth_factor = s->factor,
                 .sizes = listed ? sizes->bytes : NULL,
                 .size_count = sizes->count,
                 .chunk_bytes_max = chunk_bytes_max,
                 .class_most = (unsigned)s->slab_classes},
        .item_bytes_max = (uint32_t)s->item_size_max,
        .cas = s->cas,
        .evict = s->evict_to_free,
        .steal_pages = s->slab_reassign,
        .huge_pages = true,
        .alloc_wait_us = CACHE_ALLOC_WAIT_US,
        .policy = auto_policy(settings_policy(s), NULL),
        .settings = settings_of_cache(s),
        .policy_of_file = !evict_find(settings_policy(s)), /* s3auto resumes the file's policy */
        .process_bytes = s->process_memory,
    };
}

void start_control_config(const struct settings *s, struct tuner_config *config) {
    *config = (struct tuner_config){
        .settings = settings_of_tuner(s),
        .automove = s->slab_automove,
        .record = s->automove_record,
        .worker_count = (unsigned)s->threads,
        .reassign = s->slab_reassign,
        .sweeps = s->lru_maintainer,
    };
}

int start_access(struct server *server, bool only_check) {
    const struct settings *s = &server->at_start;
    char        why[USERS_WHY_BYTES];
    const char *no_logins = NULL;
    if (server->users.path && !users_load(&server->users, why)) {
        log_error("%s", why);
        return EXIT_FAILURE;
    }
    if (users_have_certificates(&server->users) && !listen_list_requests_certificates(s)) {
        log_warn("%s names certificates, but slated requests one only with -Z, -o ssl_ca_cert "
                 "and -o ssl_verify_mode or a listener mtls:",
                 server->users.path);
    }
    if (s->sasl && only_check) {
        no_logins = cyrus_start();
        if (!no_logins) {
            cyrus_stop();
        }
    } else if (s->sasl) {
        server->logins = logins_create(&no_logins);
    }
    if (no_logins) {
        log_error("cannot have logins by SASL: %s", no_logins);
        return EXIT_FAILURE;
    }
    return 0;
}

void start_log_classes(struct cache *cache) {
    const struct slab *slab = cache_slab(cache);
    for (unsigned id = 1; id <= slab->class_count; id++) {
        const struct slab_class *class = &slab->classes[id];
        log_bare(LOG_LEVEL_DEBUG, "slab class %3u: chunk size %9u perslab %7u", id,
                 class->chunk_bytes, class->chunks_per_page);
    }
}

void start_version(const char *program, const char *more) {
    const char *slash = strrchr(program, '/');
    bool alias = strcmp(slash ? slash + 1 : program, "memcached") == 0;
    printf("%sslated " SLATE_VERSION "%s\n", alias ? "memcached " SLATE_PROTOCOL_VERSION "\n" : "",
           more);
}

void start_help(const char *program) {
    start_version(program, ": a cache daemon that speaks memcached's protocol\n\n"
                           "Usage: slated [option ...]\n");
    settings_help(stdout);
    printf("\nslated --simulate TRACE replays a trace instead of serving; with --help it lists\n"
           "its options.\n\n"
           "Sub-options of -o may follow each other with commas. slated(8) says more.\n");
}
