#include "app.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "calcify.h"
#include "report.h"
#include "tls.h"
#include "value.h"

/* Every connection is a file descriptor; the usual soft limit is 1024. */
static bool raise_file_limit(uint64_t conns, char *why, size_t why_bytes) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)conns + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return true;
    }
    if (limit.rlim_max < wanted) {
        snprintf(why, why_bytes, "%llu connections need %llu open files, the limit is %llu",
                 (unsigned long long)conns, (unsigned long long)wanted,
                 (unsigned long long)limit.rlim_max);
        return false;
    }
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    return true;
}

/* "VERSION 1.6.45\r\n" -> "1.6.45". */
static bool ask_version(const struct address *a, double timeout_s, char *version,
                        size_t version_bytes, char *why, size_t why_bytes) {
    char *reply = address_ask(a, "version", false, timeout_s, why, why_bytes);
    if (reply == NULL) {
        return false;
    }
    reply[strcspn(reply, "\r\n")] = '\0';
    bool good = strncmp(reply, "VERSION ", 8) == 0;
    if (good) {
        snprintf(version, version_bytes, "%s", reply + 8);
    } else {
        snprintf(why, why_bytes, "%s answered 'version' with '%.60s'", a->text, reply);
    }
    free(reply);
    return good;
}

static struct options insert_options(const struct options *o) {
    struct options p = *o;
    p.pipeline = o->pipeline > 32 ? o->pipeline : 32;
    p.noreply = p.fill_on_miss = p.reconnect = false;
    p.calls = 0;
    p.rate = p.conn_rate = 0;
    return p;
}

/* True when requests were made and every one was answered with an error. Errors are counted against
 * requests too, because a meta multi-get takes a key that failed for a miss as well. */
static bool nothing_succeeded(const struct tally *t) {
    uint64_t done =
        t->hits + t->misses + t->stored + t->not_stored + t->found + t->not_found + t->unconfirmed;
    return t->errors.total > 0 && (done == 0 || t->errors.total >= t->requests + t->fills);
}

static int exit_code_of(const struct options *o, const struct phase_result *phases,
                        unsigned count) {
    int code = LOAD_OK;
    for (unsigned i = 0; i < count; i++) {
        const struct phase_result *p = &phases[i];
        if (p->failure.exit_code != 0) {
            return p->failure.exit_code;
        }
        if (p->interrupted) {
            return LOAD_INTERRUPTED;
        }
        if (p->tally.wrong.total > 0 || nothing_succeeded(&p->tally) ||
            (o->fail_on_errors && p->tally.errors.total > 0)) {
            code = LOAD_WRONG;
        }
    }
    return code;
}

/* A run that failed before it had sent anything has nothing to report. */
static bool has_something_to_report(const struct phase_result *phases, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (phases[i].failure.exit_code == 0 || phases[i].tally.sent_bytes > 0) {
            return true;
        }
    }
    return count == 0;
}

/* The insert phase, if requested, then the load itself; then the report of both. */
static int run_phases(const struct options *o, const struct address *address, const char *version,
                      FILE *out, FILE *err) {
    struct phase_result *phases = calloc(2, sizeof(*phases));
    unsigned count = 0;
    bool go_on = true;

    if (phases == NULL) {
        fputs("slate-load: out of memory\n", err);
        return LOAD_IO;
    }
    if (o->insert) {
        struct options insert = insert_options(o);
        driver_run("insert", SOURCE_INSERT, &insert, address, err, &phases[count]);
        go_on = phases[count].failure.exit_code == 0 && !phases[count].interrupted;
        count++;
    }
    if (go_on && o->requests > 0) {
        driver_run(o->replay ? "replay" : "run", o->replay ? SOURCE_TRACE : SOURCE_MIX, o, address,
                   err, &phases[count]);
        count++;
    }
    struct report report = {.options = o,
                            .server = address->text,
                            .version = version,
                            .phases = phases,
                            .phase_count = count};
    if (has_something_to_report(phases, count)) {
        (o->json ? report_json : report_text)(out, &report);
    }
    if (count > 0 && phases[count - 1].failure.exit_code != 0) {
        fprintf(err, "slate-load: %s\n", phases[count - 1].failure.text);
    }
    int code = exit_code_of(o, phases, count);
    for (unsigned i = 0; i < count; i++) {
        phase_result_fini(&phases[i]);
    }
    free(phases);
    return code;
}

/* Options that print something and end; false when the run is to go on. */
static bool print_and_leave(const struct options *o, FILE *out) {
    if (o->help) {
        options_print_help(out);
    } else if (o->version) {
        fprintf(out, "slate-load %s\n", SLATE_VERSION);
    } else if (o->describe) {
        options_describe(out);
    } else {
        return false;
    }
    return true;
}

/* Runs the phases of the options against a server that is there. */
static int run_load(const struct options *o, const struct address *address, FILE *out, FILE *err) {
    char why[512] = "", version[64];

    if (!ask_version(address, o->timeout_s, version, sizeof(version), why, sizeof(why))) {
        fprintf(err, "slate-load: %s\n", why);
        return LOAD_NO_CONNECTION;
    }
    value_init();
    if (o->calcify) {
        struct failure failure = {0};
        int code = calcify_run(o, address, version, out, err, &failure);
        if (failure.exit_code != 0) {
            fprintf(err, "slate-load: %s\n", failure.text);
        }
        return code;
    }
    return run_phases(o, address, version, out, err);
}

int app_run(int argc, char **argv, FILE *out, FILE *err) {
    struct options o;
    struct address address;
    struct tls *tls = NULL;
    char why[512] = "";

    if (!options_parse(argc, argv, &o, why, sizeof(why))) {
        fprintf(err, "slate-load: %s\n", why);
        return LOAD_USAGE;
    }
    if (print_and_leave(&o, out)) {
        return fflush(out) == 0 && !ferror(out) ? LOAD_OK : LOAD_IO;
    }
    if (o.seed == OPTION_AUTO) {
        o.seed = (uint64_t)time(NULL);
    }
    if (!raise_file_limit(o.conns, why, sizeof(why)) ||
        !address_parse(o.server, &address, why, sizeof(why)) ||
        (o.tls && (tls = tls_create(&o, why, sizeof(why))) == NULL)) {
        fprintf(err, "slate-load: %s\n", why);
        return LOAD_USAGE;
    }
    address.tls = tls;
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    int code = run_load(&o, &address, out, err);
    tls_destroy(&tls);
    return ferror(out) && code == LOAD_OK ? LOAD_IO : code;
}
