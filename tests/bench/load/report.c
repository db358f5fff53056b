#include "report.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    double percent;
} percentiles[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}};

#define PERCENTILES (sizeof(percentiles) / sizeof(*percentiles))

static double ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}

static double per_second(uint64_t n, double seconds) {
    return seconds > 0 ? (double)n / seconds : 0.0;
}

/* Number of operations answered or sent quietly: the load's own requests and the fills. */
static uint64_t operations(const struct tally *t) {
    return t->gets + t->sets + t->others;
}

/* ---------------------------------------------------------------- text */

static void print_samples(FILE *out, const char *what, const struct samples *s) {
    uint64_t shown = 0;
    fprintf(out, "%-12s %" PRIu64 "\n", what, s->total);
    for (unsigned i = 0; i < s->count; i++) {
        fprintf(out, "  %10" PRIu64 " x %s\n", s->list[i].times, s->list[i].text);
        shown += s->list[i].times;
    }
    if (shown < s->total) {
        fprintf(out, "  %10" PRIu64 " x other texts\n", s->total - shown);
    }
}

static void print_latency(FILE *out, const char *what, const struct histogram *h) {
    if (h->count == 0) {
        return;
    }
    fprintf(out, "%-12s", what);
    for (size_t i = 0; i < PERCENTILES; i++) {
        fprintf(out, " %s %.1f", percentiles[i].name,
                (double)histogram_percentile_ns(h, percentiles[i].percent) / 1e3);
    }
    fprintf(out, " max %.1f mean %.1f us\n", (double)h->max_ns / 1e3, histogram_mean_ns(h) / 1e3);
}

/* When the clock of a request's latency starts: a request "is" that. */
static const char *latency_starts(const struct options *o) {
    return o->rate > 0 || o->speed > 0 ? "due" : "sent";
}

static void print_shift(FILE *out, const struct options *o, const struct tally *t) {
    fprintf(out, "phase        value bytes       gets  hit ratio       sets   errors\n");
    for (unsigned i = 0; i < o->shift.count; i++) {
        const struct phase_tally *p = &t->phases[i];
        fprintf(out, "%-12u %11" PRIu64 " %10" PRIu64 "     %.4f %10" PRIu64 " %8" PRIu64 "\n",
                i + 1, o->shift.value_bytes[i], p->gets, ratio(p->hits, p->gets), p->sets,
                p->errors);
    }
}

static void print_phase(FILE *out, const struct options *o, const struct phase_result *p) {
    const struct tally *t = &p->tally;
    fprintf(out, "\n%s%s\n", p->name, p->interrupted ? " (interrupted)" : "");
    fprintf(out, "%-12s %" PRIu64 " in %.3f s: %.0f/s, with fills %.0f/s\n", "requests",
            t->requests, p->seconds, per_second(t->requests, p->seconds),
            per_second(operations(t), p->seconds));
    if (t->gets > 0) {
        fprintf(out, "%-12s %" PRIu64 ": %" PRIu64 " hits, %" PRIu64 " misses, hit ratio %.4f\n",
                "gets", t->gets, t->hits, t->misses, ratio(t->hits, t->hits + t->misses));
    }
    if (t->sets > 0) {
        fprintf(out,
                "%-12s %" PRIu64 ": %" PRIu64 " stored, %" PRIu64 " not stored, %" PRIu64
                " of them fills\n",
                "writes", t->sets, t->stored, t->not_stored, t->fills);
    }
    if (t->others > 0) {
        fprintf(out, "%-12s %" PRIu64 ": %" PRIu64 " found, %" PRIu64 " not found\n", "others",
                t->others, t->found, t->not_found);
    }
    if (t->unconfirmed > 0) {
        fprintf(out, "%-12s %" PRIu64 " commands without a reply\n", "noreply", t->unconfirmed);
    }
    if (o->shift.count > 0) {
        print_shift(out, o, t);
    }
    fprintf(out, "%-12s sent %.1f MB, received %.1f MB, %" PRIu64 " connections, %.2f s of CPU\n",
            "traffic", (double)t->sent_bytes / 1e6, (double)t->received_bytes / 1e6, t->connections,
            p->cpu_seconds);
    if (t->handshakes > 0) {
        fprintf(out, "%-12s %" PRIu64 ": %.0f/s, %" PRIu64 " took up an earlier session\n",
                "handshakes", t->handshakes, per_second(t->handshakes, p->seconds), t->resumed);
    }
    print_latency(out, "shaking", &t->handshake_latency);
    print_latency(out, "reads", &t->read_latency);
    print_latency(out, "writes", &t->write_latency);
    if (t->read_latency.count + t->write_latency.count > 0) {
        fprintf(out, "%-12s starts when a request is %s\n", "clock", latency_starts(o));
    }
    fprintf(out, "%-12s %" PRIu64 " values\n", "verified", t->verified);
    print_samples(out, "wrong", &t->wrong);
    print_samples(out, "errors", &t->errors);
}

static void print_load(FILE *out, const struct options *o) {
    fprintf(out,
            "load: %" PRIu64 " connections, %" PRIu64 " threads, pipeline %" PRIu64
            ", multi-get %" PRIu64 ", ",
            o->conns, o->threads, o->pipeline, o->mget);
    if (o->replay != NULL) {
        fprintf(out, "replay of %s\n", o->replay);
        return;
    }
    fprintf(out, "%" PRIu64 " keys of %s bytes, %s, values %s, %.4g %% reads\n", o->keys,
            o->key_bytes.text, o->popularity.text, o->shift.count ? "shifting" : o->sizes.text,
            o->reads_pct);
}

void report_text(FILE *out, const struct report *r) {
    fprintf(out, "slate-load %s, server %s (%s), seed %" PRIu64 "\n", SLATE_VERSION, r->server,
            r->version, r->options->seed);
    print_load(out, r->options);
    for (unsigned i = 0; i < r->phase_count; i++) {
        print_phase(out, r->options, &r->phases[i]);
    }
    fflush(out);
}

/* ---------------------------------------------------------------- JSON */

void report_json_string(FILE *out, const char *text) {
    putc('"', out);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p);
        } else if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e) {
            fprintf(out, "\\u%04x", (unsigned char)*p);
        } else {
            putc(*p, out);
        }
    }
    putc('"', out);
}

static void json_samples(FILE *out, const char *name, const struct samples *s) {
    fprintf(out, ",\"%s\":%" PRIu64 ",\"%s_samples\":[", name, s->total, name);
    for (unsigned i = 0; i < s->count; i++) {
        fprintf(out, "%s{\"times\":%" PRIu64 ",\"text\":", i ? "," : "", s->list[i].times);
        report_json_string(out, s->list[i].text);
        putc('}', out);
    }
    putc(']', out);
}

static void json_latency(FILE *out, const char *name, const struct histogram *h) {
    fprintf(out, ",\"%s\":{\"count\":%" PRIu64, name, h->count);
    for (size_t i = 0; i < PERCENTILES; i++) {
        fprintf(out, ",\"%s\":%" PRIu64, percentiles[i].name,
                histogram_percentile_ns(h, percentiles[i].percent));
    }
    fprintf(out, ",\"max\":%" PRIu64 ",\"mean\":%.1f}", h->max_ns, histogram_mean_ns(h));
}

static void json_shift(FILE *out, const struct options *o, const struct tally *t) {
    fputs(",\"shift\":[", out);
    for (unsigned i = 0; i < o->shift.count; i++) {
        const struct phase_tally *p = &t->phases[i];
        fprintf(out,
                "%s{\"value_bytes\":%" PRIu64 ",\"gets\":%" PRIu64 ",\"hits\":%" PRIu64
                ",\"hit_ratio\":%.4f,\"sets\":%" PRIu64 ",\"errors\":%" PRIu64 "}",
                i ? "," : "", o->shift.value_bytes[i], p->gets, p->hits, ratio(p->hits, p->gets),
                p->sets, p->errors);
    }
    putc(']', out);
}

static void json_intervals(FILE *out, const struct phase_result *p) {
    fputs(",\"intervals\":[", out);
    for (size_t i = 0; i < p->interval_count; i++) {
        const struct interval *n = &p->intervals[i];
        fprintf(out,
                "%s{\"end_s\":%.3f,\"requests\":%" PRIu64 ",\"hits\":%" PRIu64
                ",\"misses\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"wrong\":%" PRIu64
                ",\"read_latency_ns\":{\"count\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64
                ",\"max\":%" PRIu64 "}}",
                i ? "," : "", n->end_s, n->requests, n->hits, n->misses, n->errors, n->wrong,
                n->reads, n->read_p50_ns, n->read_p99_ns, n->read_max_ns);
    }
    putc(']', out);
}

static void json_phase(FILE *out, const struct options *o, const struct phase_result *p) {
    const struct tally *t = &p->tally;
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"requests", t->requests},
                  {"gets", t->gets},
                  {"hits", t->hits},
                  {"misses", t->misses},
                  {"hit_bytes", t->hit_bytes},
                  {"sets", t->sets},
                  {"fills", t->fills},
                  {"stored", t->stored},
                  {"not_stored", t->not_stored},
                  {"unconfirmed", t->unconfirmed},
                  {"others", t->others},
                  {"found", t->found},
                  {"not_found", t->not_found},
                  {"verified", t->verified},
                  {"sent_bytes", t->sent_bytes},
                  {"connections", t->connections},
                  {"handshakes", t->handshakes},
                  {"resumed", t->resumed},
                  {"received_bytes", t->received_bytes}};
    fputs("{\"name\":", out);
    report_json_string(out, p->name);
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        fprintf(out, ",\"%s\":%" PRIu64, counts[i].name, counts[i].value);
    }
    fprintf(out,
            ",\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"requests_per_s\":%.1f,"
            "\"operations_per_s\":%.1f,\"hit_ratio\":%.4f,\"interrupted\":%s",
            p->seconds, p->cpu_seconds, per_second(t->requests, p->seconds),
            per_second(operations(t), p->seconds), ratio(t->hits, t->hits + t->misses),
            p->interrupted ? "true" : "false");
    json_samples(out, "wrong", &t->wrong);
    json_samples(out, "errors", &t->errors);
    fprintf(out, ",\"latency_starts\":\"%s\"", latency_starts(o));
    json_latency(out, "read_latency_ns", &t->read_latency);
    json_latency(out, "write_latency_ns", &t->write_latency);
    json_latency(out, "handshake_latency_ns", &t->handshake_latency);
    if (o->shift.count > 0) {
        json_shift(out, o, t);
    }
    if (p->interval_count > 0) {
        json_intervals(out, p);
    }
    if (p->failure.exit_code != 0) {
        fputs(",\"failure\":", out);
        report_json_string(out, p->failure.text);
    }
    putc('}', out);
}

void report_json(FILE *out, const struct report *r) {
    fputs("{\"program\":\"slate-load\",\"program_version\":", out);
    report_json_string(out, SLATE_VERSION);
    fputs(",\"server\":", out);
    report_json_string(out, r->server);
    fputs(",\"server_version\":", out);
    report_json_string(out, r->version);
    fprintf(out, ",\"seed\":%" PRIu64 ",\"phases\":[", r->options->seed);
    for (unsigned i = 0; i < r->phase_count; i++) {
        if (i > 0) {
            putc(',', out);
        }
        json_phase(out, r->options, &r->phases[i]);
    }
    fputs("]}\n", out);
    fflush(out);
}
