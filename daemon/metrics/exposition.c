#include "metrics/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/stats/stats.h"
#include "server/process/version.h"

/* The replies from which the page is made; each row of a table is a metric. */
enum part { GENERAL, MEMORY, MOVES, SLABS, ITEMS, SETTINGS, CURVE, WHATIF, PARTS };
static const struct {
    const char *command, *prefix;
    const char *label; /* label of the number before a name; NULL: there is none */
    const struct counter_info *rows; /* NULL: only the tables below name metrics */
} parts[PARTS] = {
    [GENERAL] = {"stats", "slate_", NULL, stats_general_info},
    [MEMORY] = {"stats memory", "slate_memory_", NULL, stats_memory_info},
    [MOVES] = {"stats moves", "slate_moves_", NULL, stats_moves_info},
    [SLABS] = {"stats slabs", "slate_class_", "class", stats_slabs_info},
    [ITEMS] = {"stats items", "slate_class_", "class", stats_items_info},
    [SETTINGS] = {"stats settings", NULL, NULL, NULL},
    [CURVE] = {"stats curve", NULL, NULL, NULL},
    [WHATIF] = {"stats whatif", NULL, NULL, NULL},
};

/* The parts of STAT NAME VALUE, STAT LABEL:NAME VALUE or STAT items:LABEL:NAME VALUE. */
struct line {
    const char *label, *name, *value; /* label: empty if there is none */
};
struct answer {
    struct text_out text;
    struct line    *lines;
    size_t          count;
};
struct exposition {
    struct text_out *to;
    bool             openmetrics;
    struct answer    answers[PARTS];
    char             family[128]; /* metric of the last sample */
};

/* A metric: the lines of one name in one reply. A name that ends in _total is a counter's. */
struct metric {
    enum part   part;
    const char *stat, *name, *help;
    const char *label;  /* name of the lines' labels; NULL: the lines have none */
    const char *labels; /* more labels, as text; may be empty */
    bool        is_word;   /* the value is a word, which becomes the label; the sample is 1 */
    double      factor; /* factor of the value; 0: none */
};

/* --- answers --- */

static void exposition_cut_lines(struct answer *a) {
    char *text = a->text.bytes, *line;
    for (const char *c = text; (c = strchr(c, '\n')) != NULL; c++) {
        a->count++;
    }
    a->lines = calloc(a->count + 1, sizeof *a->lines);
    a->text.failed = a->lines == NULL;
    a->count = 0;
    while (a->lines != NULL && (line = strsep(&text, "\n")) != NULL) {
        static const char stat[] = "STAT ", items[] = "items:";
        char *key = line + sizeof stat - 1, *value = key;
        line[strcspn(line, "\r")] = '\0';
        if (strncmp(line, stat, sizeof stat - 1) != 0 || strsep(&value, " ") == NULL || !value) {
            continue;
        }
        key += strncmp(key, items, sizeof items - 1) == 0 ? sizeof items - 1 : 0;
        char *colon = strrchr(key, ':');
        a->lines[a->count++] = (struct line){colon ? key : "", colon ? colon + 1 : key, value};
        if (colon != NULL) {
            *colon = '\0';
        }
    }
}

/* Runs one command of the table, none of which waits for another thread. */
static void exposition_query(struct server *server, const char *command, struct answer *a) {
    struct serve_counters  nobodys = {0};
    struct words           words;
    struct command_context ctx = {.server = server,
                                  .who = "-",
                                  .role = ROLE_READ,
                                  .out = &a->text,
                                  .piece_bytes = SIZE_MAX, /* all at once */
                                  .until_us = UINT64_MAX,
                                  .counters = &nobodys};
    text_out_init(&a->text);
    words_split(command, strlen(command), &words);
    stats_command(&ctx, &words);
    text_out_bytes(&a->text, "", 1);
    if (!a->text.failed) {
        exposition_cut_lines(a);
    }
}

static const char *exposition_value(const struct exposition *p, enum part part, const char *name) {
    const struct answer *a = &p->answers[part];
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->lines[i].name, name) == 0) {
            return a->lines[i].value;
        }
    }
    return "";
}

/* --- text --- */

static void exposition_put_head(struct exposition *p, const char *name, const char *help) {
    static const char total[] = "_total";
    size_t bytes = strlen(name), ending = sizeof total - 1;
    bool   counter = bytes > ending && strcmp(name + bytes - ending, total) == 0;
    /* in OpenMetrics a counter's family has the name without _total */
    int n = (int)(bytes - (counter && p->openmetrics ? ending : 0));
    if (strcmp(p->family, name) != 0) {
        snprintf(p->family, sizeof p->family, "%s", name);
        text_out_printf(p->to, "# HELP %.*s %s\n# TYPE %.*s %s\n", n, name, help, n, name,
                        counter ? "counter" : "gauge");
    }
}

/* Writes a word as the label of a metric that is 1. */
static void exposition_put_word(struct exposition *p, const char *name, const char *label,
                                const char *word) {
    text_out_printf(p->to, "%s{%s=\"", name, label);
    for (; *word != '\0'; word++) {
        text_out_str(p->to, *word == '"' || *word == '\\' ? "\\" : "");
        text_out_bytes(p->to, word, 1);
    }
    text_out_str(p->to, "\"} 1\n");
}

/* Counts the compare-and-swap stores in the lines of this label, which cmd_set includes. */
static uint64_t exposition_cas_stores(const struct answer *a, const struct line *set) {
    uint64_t sum = 0;
    for (const struct line *l = set; l < a->lines + a->count; l++) {
        if (strcmp(l->label, set->label) == 0 &&
            (strcmp(l->name, "cas_misses") == 0 || strcmp(l->name, "cas_hits") == 0 ||
             strcmp(l->name, "cas_badval") == 0)) {
            sum += strtoull(l->value, NULL, 10);
        }
    }
    return sum;
}

static void exposition_put_sample(struct exposition *p, const struct metric *m,
                                  const struct line *l) {
    char   labels[128], *end;
    double value = strtod(l->value, &end);
    bool   yes = strcmp(l->value, "yes") == 0, no = strcmp(l->value, "no") == 0;
    if (!yes && !no && (end == l->value || !isfinite(value))) {
        return;
    }
    snprintf(labels, sizeof labels, m->label ? "%s=\"%s\"%s%s" : "%.0s%.0s%.0s%s", m->label,
             l->label, *m->labels ? "," : "", m->labels);
    exposition_put_head(p, m->name, m->help);
    text_out_printf(p->to, *labels ? "%s{%s} " : "%s%s ", m->name, labels);
    if (yes || no) {
        text_out_str(p->to, yes ? "1\n" : "0\n");
    } else if (m->factor != 0) {
        text_out_printf(p->to, "%.15g\n", value * m->factor);
    } else if (*m->labels && strcmp(m->stat, "cmd_set") == 0) {
        uint64_t cas = exposition_cas_stores(&p->answers[m->part], l),
                 sets = strtoull(l->value, NULL, 10);
        text_out_printf(p->to, "%" PRIu64 "\n", sets > cas ? sets - cas : 0);
    } else {
        text_out_printf(p->to, "%s\n", l->value);
    }
}

static void exposition_put_metric(struct exposition *p, const struct metric *m) {
    const struct answer *a = &p->answers[m->part];
    for (const struct line *l = a->lines; l < a->lines + a->count; l++) {
        /* several words: a class's line for a metric of the cache */
        if (strcmp(l->name, m->stat) != 0 || (m->label && !m->is_word) != (*l->label != '\0') ||
            strchr(l->label, ':') != NULL) {
            continue;
        }
        if (m->is_word) {
            exposition_put_head(p, m->name, m->help);
            exposition_put_word(p, m->name, m->label, l->value);
        } else {
            exposition_put_sample(p, m, l);
        }
    }
}

/* --- metrics --- */

/* Writes a row's metric with the name that prometheus.lua has: units are in the name, microseconds
 * become seconds, and _count is left out, since only histograms have it. */
static void exposition_put_row(struct exposition *p, enum part part,
                               const struct counter_info *row) {
    bool        counter = strcmp(row->kind, "counter") == 0;
    bool        is_us = strcmp(row->unit, "microseconds") == 0;
    const char *unit = is_us ? "seconds" : row->unit;
    const char *cut = is_us ? "_us" : counter ? "_total" : "_count";
    size_t      bytes = strlen(row->name), cut_bytes = strlen(cut);
    char        name[sizeof p->family];
    bool        has_unit = (strcmp(unit, "seconds") != 0 && strcmp(unit, "bytes") != 0) ||
                    strstr(row->name, unit) != NULL;
    if (bytes > cut_bytes && strcmp(row->name + bytes - cut_bytes, cut) == 0) {
        bytes -= cut_bytes;
    }
    snprintf(name, sizeof name, "%s%.*s%s%s%s", parts[part].prefix, (int)bytes, row->name,
             has_unit ? "" : "_", has_unit ? "" : unit, counter ? "_total" : "");
    exposition_put_metric(p, &(struct metric){.part = part,
                                              .stat = row->name,
                                              .name = name,
                                              .help = row->help,
                                              .label = parts[part].label,
                                              .labels = "",
                                              .factor = is_us ? 1e-6 : 0});
}

static void exposition_put_rows(struct exposition *p, enum part part) {
    /* numbers and dates, useless as a series */
    static const char left_out[] = " pid pointer_size time ";
    for (const struct counter_info *row = parts[part].rows; row != NULL && row->name; row++) {
        char word[64];
        snprintf(word, sizeof word, " %s ", row->name);
        if (strcmp(row->kind, "text") != 0 && strstr(left_out, word) == NULL) {
            exposition_put_row(p, part, row);
        }
    }
}

static void exposition_put_failure(struct exposition *p) {
    static const char name[] = "slate_automove_failed";
    const char       *failed = exposition_value(p, MOVES, "failed");
    exposition_put_head(p, name,
                        "1: a mode of automove failed since one was set, why in the label");
    if (strcmp(failed, "none") == 0) {
        text_out_printf(p->to, "%s 0\n", name);
    } else {
        char why[1024];
        snprintf(why, sizeof why, "automove failed: %s; now it is %s", failed,
                 exposition_value(p, MOVES, "mode"));
        exposition_put_word(p, name, "why", why);
    }
}

#define UP "1: the server answered"
#define AT_SIZE \
    "slate_predicted_hit_ratio", "predicted hit ratio with a multiple of the memory", NULL
static const struct metric chosen[] = {
    {MOVES, "mode", "slate_automove_mode", "how the server moves pages by itself, in the label",
     "mode", "", true, 0},
    {WHATIF, "policy", "slate_policy", "the eviction policy, in the label", "policy", "", true, 0},
    {CURVE, "hit_ratio_x0.5", AT_SIZE, "memory=\"0.5\"", false, 0},
    {CURVE, "hit_ratio_x1", AT_SIZE, "memory=\"1\"", false, 0},
    {CURVE, "hit_ratio_x2", AT_SIZE, "memory=\"2\"", false, 0},
    {CURVE, "hit_ratio_x4", AT_SIZE, "memory=\"4\"", false, 0},
    {WHATIF, "hit_ratio", "slate_policy_hit_ratio",
     "hit ratio that the policy would have, by its miniature cache", "policy", "", false, 0},
};

/* Names of memcached_exporter, generated from the tables of lua/slate/cli/exporter_names.lua. */
enum { TOTALS = SLABS, CLASS = PARTS };
static const struct {
    unsigned    part;
    const char *stat, *name, *labels;
} exporter_rows[] = {
#include "metrics/exporter_rows.inc"
};

static void exposition_put_exporter_rows(struct exposition *p) {
    for (size_t i = 0; i < sizeof exporter_rows / sizeof *exporter_rows; i++) {
        unsigned part = exporter_rows[i].part, last = part == CLASS ? ITEMS : part;
        char     name[sizeof p->family], help[128];
        snprintf(name, sizeof name, "memcached_%s%s", part == CLASS ? "slab_" : "",
                 exporter_rows[i].name);
        snprintf(help, sizeof help, "memcached's statistic %s", exporter_rows[i].stat);
        for (unsigned at = part == CLASS ? SLABS : part; at <= last; at++) {
            const char *labels = exporter_rows[i].labels;
            exposition_put_metric(
                p, &(struct metric){.part = at,
                                    .stat = exporter_rows[i].stat,
                                    .name = name,
                                    .help = *labels ? "requests by what the labels say" : help,
                                    .label = part == CLASS ? "slab" : NULL,
                                    .labels = labels});
        }
    }
}

static void exposition_put_all(struct exposition *p) {
    exposition_put_head(p, "slate_up", UP);
    text_out_str(p->to, "slate_up 1\n");
    exposition_put_head(p, "slate_info", "what the server is, in labels");
    text_out_str(p->to, "slate_info{version=\"" SLATE_PROTOCOL_VERSION "\",slated=\"" SLATE_VERSION
                        "\"} 1\n");
    exposition_put_failure(p);
    for (unsigned part = 0; part < PARTS; part++) {
        exposition_put_rows(p, part);
    }
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        exposition_put_metric(p, &chosen[i]);
    }
    exposition_put_head(p, "memcached_up", UP);
    text_out_str(p->to, "memcached_up 1\n");
    exposition_put_head(p, "memcached_version", "which version it is, in the label");
    exposition_put_word(p, "memcached_version", "version", SLATE_PROTOCOL_VERSION);
    exposition_put_exporter_rows(p);
    text_out_str(p->to, p->openmetrics ? "# EOF\n" : "");
}

void exposition_write(struct server *server, bool openmetrics, struct text_out *to) {
    struct exposition p = {.to = to, .openmetrics = openmetrics};
    for (unsigned part = 0; part < PARTS; part++) {
        exposition_query(server, parts[part].command, &p.answers[part]);
        to->failed |= p.answers[part].text.failed;
    }
    if (!to->failed) {
        exposition_put_all(&p);
    }
    for (unsigned part = 0; part < PARTS; part++) {
        free(p.answers[part].lines);
        text_out_fini(&p.answers[part].text);
    }
}
