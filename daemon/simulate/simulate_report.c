#include "simulate/simulate_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double report_ratio(uint64_t part, uint64_t total) {
    return total > 0 ? (double)part / (double)total : 0;
}

/* --- numbers of both forms --- */
static double report_seconds(const struct simulate_result *r) { return (double)r->play_us / 1e6; }

/* --- the table --- */

static bool report_has_moves(const struct simulate_options *o) {
    return strcmp(o->automove, "off") != 0;
}

static void report_text_head(const struct simulate_report *p) {
    const struct simulate_options *o = p->options;
    char values[SIMULATE_SIZES_BYTES];
    fprintf(p->to, "# %s: %" PRIu64 " requests", o->trace, p->requests);
    if (p->keys > 0) {
        fprintf(p->to, ", %" PRIu64 " keys", p->keys);
    }
    if (p->bad_lines > 0) {
        fprintf(p->to, ", %" PRIu64 " lines skipped", p->bad_lines);
    }
    if (p->warmup_requests > 0) {
        fprintf(p->to, ", the first %" PRIu64 " fill the caches and do not count",
                p->warmup_requests);
    }
    if (p->sample < 1) {
        fprintf(p->to, " of one key in %.0f, figures are of the whole", round(1 / p->sample));
    }
    if (p->has_times) {
        fprintf(p->to, "; at its own times");
    } else {
        fprintf(p->to, "; %" PRIu32 " requests a second", o->requests_per_s);
    }
    if (o->by_objects) {
        fprintf(p->to, "; objects of equal size\n");
    } else {
        simulate_sizes_format(&o->values, values);
        fprintf(p->to, "; values without a size: %s, scale %g\n", values, o->values.scale);
    }
    fprintf(p->to, "%-8s %10s ", "policy", o->by_objects ? "objects" : "memory");
    if (!o->by_objects) {
        fprintf(p->to, "%10s ", "held");
    }
    fprintf(p->to, "%10s %10s %9s %10s %9s %9s %8s %7s", "requests", "hits", "hit ratio",
            "miss ratio", "items", "evictions", "refused", "seconds");
    fprintf(p->to, report_has_moves(o) ? " %6s %9s  %s\n" : "\n", "pages", "lost", "automove");
}

static void report_text_row(const struct simulate_report *p, const struct simulate_result *r) {
    char size[32], held[32];
    if (r->objects > 0) {
        fprintf(p->to, "%-8s %10" PRIu64 " ", r->policy, r->objects);
    } else {
        setting_format_bytes(size, (double)r->memory_bytes);
        setting_format_bytes(held, (double)r->held_bytes);
        fprintf(p->to, "%-8s %10s %10s ", r->policy, size, held);
    }
    fprintf(p->to,
            "%10" PRIu64 " %10" PRIu64 " %9.4f %10.4f %9" PRIu64 " %9" PRIu64 " %8" PRIu64 " %7.2f",
            r->requests, r->hits, report_ratio(r->hits, r->requests),
            report_ratio(r->requests - r->hits, r->requests), r->items, r->evictions, r->refused,
            report_seconds(r));
    if (report_has_moves(p->options)) {
        fprintf(p->to, " %6" PRIu64 " %9" PRIu64 "  %s", r->pages_moved, r->lost, r->automove);
    }
    putc('\n', p->to);
}

/* --- JSON --- */

/* Bytes beyond ASCII are copied, so a path in UTF-8 stays intact. */
static void report_json_text(FILE *to, const char *text) {
    putc('"', to);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            putc('\\', to);
        }
        if (c < 0x20) {
            fprintf(to, "\\u%04x", c);
        } else {
            putc(c, to);
        }
    }
    putc('"', to);
}

static void report_json_row(const struct simulate_report *p, const struct simulate_result *r) {
    const struct simulate_options *o = p->options;
    fprintf(p->to, "{\"schema\":\"slate/simulation/1\",\"trace\":");
    report_json_text(p->to, o->trace);
    fprintf(p->to, ",\"policy\":\"%s\",\"%s\":%" PRIu64, r->policy,
            r->objects > 0 ? "objects" : "memory_bytes",
            r->objects > 0 ? r->objects : r->memory_bytes);
    fprintf(p->to,
            ",\"requests\":%" PRIu64 ",\"hits\":%" PRIu64 ",\"hit_ratio\":%.6f,\"miss_ratio\":%.6f",
            r->requests, r->hits, report_ratio(r->hits, r->requests),
            report_ratio(r->requests - r->hits, r->requests));
    fprintf(p->to,
            ",\"items\":%" PRIu64 ",\"evictions\":%" PRIu64 ",\"refused\":%" PRIu64
            ",\"seconds\":%.3f",
            r->items, r->evictions, r->refused, report_seconds(r));
    if (r->policy_now != NULL) {
        fprintf(p->to, ",\"policy_changes\":%" PRIu64 ",\"policy_now\":\"%s\"", r->changes,
                r->policy_now);
    }
    if (r->objects == 0) {
        fprintf(p->to, ",\"held_bytes\":%" PRIu64 ",\"automove\":", r->held_bytes);
        report_json_text(p->to, r->automove);
        fprintf(p->to,
                ",\"pages_moved\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"pages_stolen\":%" PRIu64,
                r->pages_moved, r->lost, r->pages_stolen);
    }
    if (trace_format_has_verbs(p->format)) {
        fprintf(p->to, ",\"stores\":%" PRIu64 ",\"deletes\":%" PRIu64, r->stores, r->deletes);
    }
    if (p->keys > 0) {
        fprintf(p->to, ",\"keys\":%" PRIu64, p->keys);
    }
    if (r->objects == 0) {
        char values[SIMULATE_SIZES_BYTES];
        simulate_sizes_format(&o->values, values);
        fprintf(p->to, ",\"value_bytes\":\"%s\",\"scale\":%g", values, o->values.scale);
    }
    fprintf(p->to, ",\"format\":\"%s\",\"sample_ratio\":%.9g", trace_format_name(p->format),
            p->sample);
    if (!p->has_times) {
        fprintf(p->to, ",\"requests_per_s\":%" PRIu32, o->requests_per_s);
    }
    fprintf(p->to, ",\"bad_lines\":%" PRIu64 ",\"warmup_requests\":%" PRIu64 "}\n", p->bad_lines,
            p->warmup_requests);
}

void simulate_report_row(struct simulate_report *p, const struct simulate_result *r) {
    if (p->options->json) {
        report_json_row(p, r);
    } else {
        if (!p->begun) {
            report_text_head(p);
        }
        report_text_row(p, r);
    }
    p->begun = true;
    fflush(p->to);
}
