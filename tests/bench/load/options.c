#include "options.h"

#include <stddef.h>
#include <string.h>

#include "option_row.h"
#include "preset.h"

#define FIELD(name) offsetof(struct options, name)
#define GROUP(title)                                                                               \
    { .help = title }
#define SWITCH(name, field, help)                                                                  \
    { name, NULL, NULL, 0, 0, NULL, FIELD(field), option_parse_switch, help }
#define TEXT(name, argument, initial, field, help)                                                 \
    { name, argument, initial, 0, 0, "text", FIELD(field), option_parse_text, help }
#define COUNT(name, argument, initial, min, max, field, help)                                      \
    { name, argument, initial, min, max, NULL, FIELD(field), option_parse_count, help }
#define REAL(name, argument, initial, min, max, field, help)                                       \
    { name, argument, initial, min, max, NULL, FIELD(field), option_parse_real, help }
#define TIME(name, initial, min, max, field, help)                                                 \
    { name, "TIME", initial, min, max, NULL, FIELD(field), option_parse_time, help }
#define WHOLE_TIME(name, initial, min, max, field, help)                                           \
    { name, "TIME", initial, min, max, NULL, FIELD(field), option_parse_whole_time, help }
#define OTHER(name, argument, initial, expects, parse, field, help)                                \
    { name, argument, initial, 0, 0, expects, FIELD(field), parse, help }

static const char dist_forms[] =
    "a number or one of d100 u50,500 o16,21 l300,1 v30.8,8.2,0.08 etc";

static const struct row rows[] = {
    GROUP("Server"),
    TEXT("server", "ADDRESS", "127.0.0.1:11211", server,
         "the server: host:port, [ipv6]:port, unix:/path or /path"),
    OTHER("protocol", "NAME", "text", "text or meta", option_parse_protocol, meta,
          "text (get, set) or meta (mg, ms)"),
    TIME("timeout", "10", 0.1, 3600, timeout_s,
         "give up when the server has sent nothing for this long while replies are due"),
    SWITCH("tls", tls, "speak TLS; tls:// before the address means the same"),
    SWITCH("tls-verify", tls_verify,
           "refuse a server whose certificate is not trusted or not for the host that --server "
           "names; without it no certificate is checked"),
    TEXT("tls-ca", "FILE", NULL, tls_ca,
         "certificates to trust in place of the system's; means --tls-verify"),
    TEXT("tls-cert", "FILE", NULL, tls_cert, "our own certificate, for a server that wants one"),
    TEXT("tls-key", "FILE", NULL, tls_key, "its private key, where --tls-cert does not hold it"),
    SWITCH("tls-resume", tls_resume,
           "with --reconnect: a connection takes up the session of the one that it replaces"),

    GROUP("Connections"),
    COUNT("conns", "N", "auto", 1, 100000, conns,
          "connections, all threads together (50; 1 for a replay, 100 for calcify)"),
    REAL("conn-rate", "N", "0", 0, 1e6, conn_rate,
         "open this many connections a second (0: all at once)"),
    COUNT("calls", "N", "0", 0, 1e15, calls,
          "requests a connection makes before it is closed (0: no end)"),
    SWITCH("reconnect", reconnect, "open a new connection for each that has made its calls"),
    WHOLE_TIME("linger", "auto", 0, 3600, linger_s,
               "SO_LINGER for the sockets; 0 resets on close and leaves no TIME_WAIT behind"),
    COUNT("threads", "N", "1", 1, 64, threads, "threads, each with its share of connections"),
    COUNT("send-bytes", "N", "0", 0, 1e9, send_bytes,
          "send at most this many bytes of a connection before the others have their turn, so that "
          "uploads overlap as they do on a network (0: no limit)"),

    GROUP("Requests"),
    COUNT("requests", "N", "auto", 0, 1e15, requests,
          "stop after this many requests (100000 when nothing else ends the run); each key of a "
          "multi-get is a request; 0 with --insert: load only"),
    TIME("duration", "0", 0, 1e7, duration_s, "stop after this long (0: no limit)"),
    OTHER("method", "VERB", "get", "get, set or delete", option_parse_method, method,
          "what is sent: get, set or delete; with --reads, what the requests that are not gets "
          "are (then get means set)"),
    REAL("reads", "PERCENT", "auto", 0, 100, reads_pct,
         "share of gets (100 when the method is get, else 0)"),
    COUNT("pipeline", "N", "1", 1, 10000, pipeline,
          "commands sent at once on a connection; the next batch follows when all are answered"),
    COUNT("mget", "N", "1", 1, 1000, mget, "keys in a get command"),
    SWITCH("noreply", noreply,
           "request no reply to writes; a command with a reply ends each batch"),
    SWITCH("fill-on-miss", fill_on_miss, "after a miss, set the key, as an application would"),
    WHOLE_TIME("ttl", "0", 0, 2147483647, ttl_s, "expiry time of values (0: none)"),
    REAL("rate", "N", "0", 0, 1e9, rate,
         "requests a second in all, open loop: latency counts from the moment a request was due, "
         "so a stalled server cannot hide (0: as fast as replies come)"),

    GROUP("Keys and values"),
    COUNT("keys", "N", "100000", 1, 1e12, keys, "number of different keys"),
    OTHER("key-bytes", "SIZE", "32", dist_forms, option_parse_dist, key_bytes,
          "length of keys, the prefix included: a number or a distribution as for --sizes; at "
          "least what distinct keys need, at most 250"),
    TEXT("key-prefix", "TEXT", "key-", key_prefix, "text that every key begins with"),
    OTHER("sizes", "SIZE", "100", dist_forms, option_parse_dist, sizes,
          "bytes of values: 100 or d100, uniform u50,500, either o16,21, log-normal l300,1 (median, "
          "sigma), generalised extreme value v30.8,8.2,0.08, or etc; at most 1000000"),
    OTHER("size-by", "WHAT", "key", "key or request", option_parse_size_by, size_by_request,
          "key: a key's values always have the same size; request: every write draws anew"),
    OTHER("dist", "LAW", "uniform",
          "uniform, zipf[:theta] or sequential", option_parse_popularity, popularity,
          "which keys are requested: uniform, zipf[:0.99] or sequential"),
    COUNT("seed", "N", "auto", 0, 1e15, seed,
          "repeats a run's choices; the seed is always printed (from the clock)"),

    GROUP("Phases and ready-made loads"),
    SWITCH("insert", insert, "first load every key once, pipelined by at least 32"),
    TEXT("preset", "NAME", NULL, preset, "production workload etc, usr or twitter"),
    OTHER("shift", "BYTES,...", NULL, "1 to 16 sizes, as in 100,1000,10000", option_parse_shift,
          shift,
          "the size of values changes from one of these to the next; every phase has keys of its "
          "own"),
    OTHER("shift-every", "WHEN", "100000",
          "a number of requests or a time, as in 100000, 10s or 5m", option_parse_every,
          shift_every,
          "length of a phase: a number of requests, or a time with its unit: ms, s, m or h"),

    GROUP("Replay"),
    TEXT("replay", "FILE", NULL, replay,
         "get every key of this trace in order, set it on a miss, and store and delete where it "
         "does; plain or packed by gzip or zstd, - is standard input; where it has no size, "
         "--sizes decides"),
    OTHER("format", "FORM", "auto", "auto, keys, slate, twitter, cachelib or oracle",
          option_parse_format, trace_format, "form of the trace: auto, keys, slate, twitter, "
          "cachelib or oracle"),
    REAL("scale", "X", "1", 0, 1e6, scale, "multiply the sizes of the trace"),
    REAL("speed", "X", "0", 0, 1e9, speed,
         "send the requests of the trace at its times, X times as fast (0: as the server answers)"),
    COUNT("limit", "N", "0", 0, 1e15, limit, "replay no more than this many lines (0: all)"),

    GROUP("Calcify"),
    COUNT("phase-bytes", "BYTES", "100000000", 1e5, 1e12, phase_bytes,
          "bytes of values sent in each phase"),

    GROUP("Output"),
    OTHER("verify", "WHICH", "all", "all, none or sample:N", option_parse_verify, verify_every,
          "values to check against their key: all, none or sample:N (one in N)"),
    TIME("interval", "0", 0, 3600, interval_s,
         "print a line of progress on standard error this often (0: never), with the latency of its "
         "reads; with --json the report holds these intervals too"),
    SWITCH("json", json, "print the report as JSON"),
    SWITCH("fail-on-errors", fail_on_errors,
           "exit 1 when the server answered any request with an error"),
    SWITCH("help", help, "print this list and exit"),
    SWITCH("version", version, "print the version and exit"),
    /* Unlisted: for the scripts and tests that keep the manual in step. */
    {"describe", NULL, NULL, 0, 0, NULL, FIELD(describe), option_parse_switch, NULL},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static const struct row *find_row(const char *name, size_t name_bytes) {
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].name != NULL && strlen(rows[i].name) == name_bytes &&
            memcmp(rows[i].name, name, name_bytes) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool set_row(struct options *o, const struct row *row, const char *text, char *why,
                    size_t why_bytes) {
    if (row->parse(row, text, (char *)o + row->offset)) {
        return true;
    }
    if (row->expects != NULL) {
        snprintf(why, why_bytes, "--%s takes %s, not '%s'", row->name, row->expects, text);
    } else if (row->parse == option_parse_time || row->parse == option_parse_whole_time) {
        snprintf(why, why_bytes,
                 "--%s takes a time from %.15g to %.15g%s seconds, as in 20, 1m or 2h, not '%s'",
                 row->name, row->min, row->max,
                 row->parse == option_parse_whole_time ? " whole" : "", text);
    } else {
        snprintf(why, why_bytes, "--%s takes a %snumber from %.15g to %.15g, not '%s'", row->name,
                 row->parse == option_parse_count ? "whole " : "", row->min, row->max, text);
    }
    return false;
}

bool option_set(struct options *o, const char *name, const char *text, char *why,
                size_t why_bytes) {
    const struct row *row = find_row(name, strlen(name));
    if (row == NULL) {
        snprintf(why, why_bytes, "there is no option --%s; --help lists them", name);
        return false;
    }
    return set_row(o, row, text, why, why_bytes);
}

/* Reads the arguments in order. With `preset_only`, sets only --preset, so that the preset's options can be applied before all others. */
static bool read_arguments(int argc, char **argv, bool preset_only, struct options *o, char *why,
                           size_t why_bytes) {
    for (int i = 1; i < argc; i++) {
        const char *word = strcmp(argv[i], "-h") == 0 ? "--help" : argv[i];
        if (strcmp(word, "calcify") == 0 && i == 1) {
            o->calcify = true;
            continue;
        }
        if (strncmp(word, "--", 2) != 0 || word[2] == '\0') {
            snprintf(why, why_bytes, "unexpected argument '%s'; --help lists the options", word);
            return false;
        }
        size_t name_bytes = strcspn(word + 2, "=");
        const struct row *row = find_row(word + 2, name_bytes);
        const char *text = word[2 + name_bytes] == '=' ? word + 3 + name_bytes : NULL;
        if (row == NULL) {
            snprintf(why, why_bytes, "there is no option --%.*s; --help lists them",
                     (int)name_bytes, word + 2);
            return false;
        }
        if (row->argument == NULL && text != NULL) {
            snprintf(why, why_bytes, "--%s takes no argument", row->name);
            return false;
        }
        if (row->argument != NULL && text == NULL) {
            if (i + 1 == argc) {
                snprintf(why, why_bytes, "--%s needs an argument: %s", row->name, row->argument);
                return false;
            }
            text = argv[++i];
        }
        if ((row->offset == FIELD(preset)) == preset_only && !set_row(o, row, text, why, why_bytes)) {
            return false;
        }
    }
    return true;
}

/* True when --key-bytes names a length that no key can have. Lengths in a distribution's tail are cut to the longest key instead. */
static bool keys_are_too_long(const struct dist *d) {
    bool has_two_lengths = d->kind == DIST_UNIFORM || d->kind == DIST_EITHER;
    return d->kind != DIST_ETC &&
           (d->a > KEY_MAX_BYTES || (has_two_lengths && d->b > KEY_MAX_BYTES));
}

/* Fills in options that depend on others and refuses combinations without a meaning. */
static bool settle(struct options *o, char *why, size_t why_bytes) {
    const char *problem = NULL;

    if (strncmp(o->server, "tls://", 6) == 0) {
        o->server += 6;
        o->tls = true;
    }
    o->tls_verify = o->tls_verify || o->tls_ca != NULL;
    if (o->conns == OPTION_AUTO) {
        o->conns = o->replay ? 1 : o->calcify ? 100 : 50;
    }
    if (o->reads_pct < 0) {
        o->reads_pct = o->method == VERB_GET ? 100 : 0;
    }
    if (o->method == VERB_GET) {
        o->method = VERB_SET; /* the verb of requests that are no gets */
    }
    if (o->replay != NULL) {
        o->fill_on_miss = true;
    }
    if (o->requests == OPTION_AUTO && o->duration_s == 0 && o->replay == NULL &&
        (o->calls == 0 || o->reconnect)) {
        o->requests = 100000;
    }
    if (o->conns < o->threads) {
        problem = "--threads cannot be more than --conns";
    } else if (o->replay != NULL && (o->conns > 1 || o->threads > 1)) {
        problem = "--replay keeps the order of its trace, so it needs --conns 1 and --threads 1";
    } else if (o->replay != NULL && (o->preset || o->shift.count || o->insert)) {
        problem = "--replay cannot be combined with --insert, --preset or --shift";
    } else if (o->calcify &&
               (o->replay || o->preset || o->shift.count || o->insert || o->noreply)) {
        problem = "calcify has a load of its own: it takes no --insert, --noreply, --preset, "
                  "--replay or --shift";
    } else if (!o->tls && (o->tls_verify || o->tls_resume || o->tls_cert || o->tls_key)) {
        problem = "--tls-verify, --tls-ca, --tls-cert, --tls-key and --tls-resume need --tls";
    } else if (o->tls_key != NULL && o->tls_cert == NULL) {
        problem = "--tls-key needs --tls-cert";
    } else if (o->tls_resume && !o->reconnect) {
        problem = "--tls-resume needs --reconnect";
    } else if (o->reconnect && o->calls == 0) {
        problem = "--reconnect needs --calls";
    } else if (o->speed > 0 && o->replay == NULL) {
        problem = "--speed needs --replay";
    } else if (o->speed > 0 && o->rate > 0) {
        problem = "--speed excludes --rate";
    } else if (keys_are_too_long(&o->key_bytes)) {
        snprintf(why, why_bytes, "--key-bytes takes at most %d, the longest key there is, not '%s'",
                 KEY_MAX_BYTES, o->key_bytes.text);
        return false;
    } else if (strlen(o->key_prefix) > 200) {
        problem = "--key-prefix takes at most 200 bytes";
    } else if (o->key_prefix[strcspn(o->key_prefix, " \t\r\n\v\f")] != '\0') {
        problem = "--key-prefix takes no blanks";
    } else if (o->insert && o->shift.count > 0) {
        problem = "--insert and --shift exclude each other: a shifting load makes its own keys";
    }
    if (problem != NULL) {
        snprintf(why, why_bytes, "%s", problem);
    }
    return problem == NULL;
}

bool options_parse(int argc, char **argv, struct options *out, char *why, size_t why_bytes) {
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].initial != NULL && !set_row(out, &rows[i], rows[i].initial, why, why_bytes)) {
            return false;
        }
    }
    return read_arguments(argc, argv, true, out, why, why_bytes) &&
           (out->preset == NULL || preset_apply(out, out->preset, why, why_bytes)) &&
           read_arguments(argc, argv, false, out, why, why_bytes) && settle(out, why, why_bytes);
}

/* Wraps at 92 columns, each line after `indent` blanks. */
static void print_wrapped(FILE *out, const char *text, int indent) {
    int column = indent;
    fprintf(out, "%*s", indent, "");
    while (*text != '\0') {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > 92) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", n, text);
        column += n;
        text += n;
        text += *text == ' ';
    }
    putc('\n', out);
}

void options_print_help(FILE *out) {
    fputs("usage: slate-load [calcify] [options]\n"
          "Loads a memcached-compatible server, checks every value it reads back, and reports\n"
          "throughput and latency. `calcify` runs the slab rebalancing experiment.\n"
          "Numbers may end in k, m or g (thousands, millions, thousand millions).\n"
          "A TIME is in seconds, or ends in ms, s, m or h.\n",
          out);
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (row->name == NULL) {
            fprintf(out, "\n%s\n", row->help);
        } else if (row->help != NULL) {
            fprintf(out, "  --%s%s%s", row->name, row->argument ? " " : "",
                    row->argument ? row->argument : "");
            if (row->initial != NULL && strcmp(row->initial, "auto") != 0) {
                fprintf(out, " (%s)", row->initial);
            }
            putc('\n', out);
            print_wrapped(out, row->help, 8);
        }
    }
}

void options_describe(FILE *out) {
    const char *group = "";
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (row->name == NULL) {
            group = row->help;
            continue;
        }
        if (row->help == NULL) {
            continue;
        }
        fprintf(out, "%s\t%s\t%s\t", row->name, row->argument ? row->argument : "",
                row->initial ? row->initial : "");
        if (row->max > row->min) {
            fprintf(out, "%.15g..%.15g", row->min, row->max);
        }
        fprintf(out, "\t%s\t%s\n", group, row->help);
    }
}
