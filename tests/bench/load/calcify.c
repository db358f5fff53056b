#include "calcify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static const uint64_t phase_value_bytes[CALCIFY_PHASES] = {100, 1000, 10000, 100000};

struct calcify_phase {
    uint64_t value_bytes, sets, errors, not_stored;
    uint64_t asked, found, wrong; /* when read back at the end */
    unsigned class_id;            /* the class whose sets grew most in this phase; 0: none */
    uint64_t pages_after[CALCIFY_PHASES]; /* pages of the classes of phases 1.., after this one */
    uint64_t pages_elsewhere;             /* pages of all other classes */
    struct samples error_samples, wrong_samples;
};

#define READ_BACK_MAX UINT64_C(10000) /* keys of each phase that are read back */

void calcify_parse_slabs(const char *reply, struct slab_stats *out) {
    memset(out, 0, sizeof(*out));
    for (const char *line = reply; line != NULL && *line != '\0';) {
        unsigned class_id;
        char name[32];
        uint64_t number;
        if (sscanf(line, "STAT %u:%31s %" SCNu64, &class_id, name, &number) == 3 &&
            class_id < CALCIFY_CLASSES) {
            struct class_stats *c = &out->classes[class_id];
            if (strcmp(name, "chunk_size") == 0) {
                c->chunk_bytes = number;
            } else if (strcmp(name, "total_pages") == 0) {
                c->pages = number;
            } else if (strcmp(name, "cmd_set") == 0) {
                c->sets = number;
            }
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

static bool read_slabs(const struct address *a, double timeout_s, struct slab_stats *out,
                       struct failure *failure) {
    char why[400];
    char *reply = address_ask(a, "stats slabs", true, timeout_s, why, sizeof(why));
    if (reply == NULL || strstr(reply, "END\r\n") == NULL) {
        failure->exit_code = LOAD_IO;
        snprintf(failure->text, sizeof(failure->text), "%s",
                 reply ? "the server does not know 'stats slabs'" : why);
        free(reply);
        return false;
    }
    calcify_parse_slabs(reply, out);
    free(reply);
    return true;
}

static unsigned class_that_grew(const struct slab_stats *before, const struct slab_stats *after) {
    unsigned best = 0;
    uint64_t most = 0;
    for (unsigned i = 1; i < CALCIFY_CLASSES; i++) {
        uint64_t was = before->classes[i].sets, is = after->classes[i].sets;
        if (is > was && is - was > most) {
            most = is - was;
            best = i;
        }
    }
    return best;
}

static void note_pages(struct calcify_phase *phases, unsigned current,
                       const struct slab_stats *now) {
    struct calcify_phase *p = &phases[current];
    uint64_t all = 0, ours = 0;
    for (unsigned i = 1; i < CALCIFY_CLASSES; i++) {
        all += now->classes[i].pages;
    }
    for (unsigned i = 0; i <= current; i++) {
        bool counted = false; /* two phases may share a class on a server with few */
        p->pages_after[i] = now->classes[phases[i].class_id].pages;
        for (unsigned j = 0; j < i; j++) {
            counted = counted || phases[j].class_id == phases[i].class_id;
        }
        ours += counted ? 0 : p->pages_after[i];
    }
    p->pages_elsewhere = all > ours ? all - ours : 0;
}

/* The options of one phase: every connection sends the same number of sets of keys never used. */
static struct options phase_options(const struct options *o, unsigned phase) {
    struct options p = *o;
    uint64_t calls = o->phase_bytes / (o->conns * phase_value_bytes[phase]);
    static const char *const prefixes[CALCIFY_PHASES] = {"calcify-1-", "calcify-2-", "calcify-3-",
                                                         "calcify-4-"};
    p.calls = calls > 0 ? calls : 1;
    p.keys = p.calls * o->conns;
    p.key_prefix = prefixes[phase];
    p.sizes = (struct dist){.kind = DIST_FIXED, .a = (double)phase_value_bytes[phase]};
    p.method = VERB_SET;
    p.requests = OPTION_AUTO;
    return p;
}

/* Reads random keys of a phase back: few are left of the early phases, but each present value must be right, however often its page was
 * moved. */
static bool read_back(const struct options *o, unsigned phase, const struct address *address,
                      FILE *progress, struct phase_result *result, struct calcify_phase *p) {
    struct options read = phase_options(o, phase);
    read.requests = read.keys < READ_BACK_MAX ? read.keys : READ_BACK_MAX;
    read.calls = 0;
    read.reads_pct = 100;
    driver_run("read back", SOURCE_MIX, &read, address, progress, result);
    p->asked = result->tally.gets;
    p->found = result->tally.hits;
    p->wrong = result->tally.wrong.total;
    p->wrong_samples = result->tally.wrong;
    phase_result_fini(result);
    return result->failure.exit_code == 0 && !result->interrupted;
}

static void print_samples(FILE *out, unsigned phase, const char *what, const struct samples *s) {
    for (unsigned i = 0; i < s->count; i++) {
        fprintf(out, "phase %u, %s: %" PRIu64 " x %s\n", phase, what, s->list[i].times,
                s->list[i].text);
    }
}

static void print_table(FILE *out, const struct calcify_phase *phases, unsigned done) {
    fputs("                                   pages of the class of\n"
          "phase  value bytes    sets  class",
          out);
    for (unsigned i = 0; i < CALCIFY_PHASES; i++) {
        fprintf(out, " %8" PRIu64, phase_value_bytes[i]);
    }
    fputs("  others  errors\n", out);
    for (unsigned i = 0; i < done; i++) {
        const struct calcify_phase *p = &phases[i];
        fprintf(out, "%5u  %11" PRIu64 " %7" PRIu64 "  %5u", i + 1, p->value_bytes, p->sets,
                p->class_id);
        for (unsigned j = 0; j < CALCIFY_PHASES; j++) {
            if (j <= i) {
                fprintf(out, " %8" PRIu64, p->pages_after[j]);
            } else {
                fprintf(out, " %8s", "-");
            }
        }
        fprintf(out, "  %6" PRIu64 "  %6" PRIu64 "\n", p->pages_elsewhere, p->errors);
    }
    fputs("read back", out);
    for (unsigned i = 0; i < done; i++) {
        fprintf(out, "%s phase %u: %" PRIu64 " of %" PRIu64 " found, %" PRIu64 " wrong",
                i ? ";" : "", i + 1, phases[i].found, phases[i].asked, phases[i].wrong);
    }
    putc('\n', out);
    for (unsigned i = 0; i < done; i++) {
        print_samples(out, i + 1, "error", &phases[i].error_samples);
        print_samples(out, i + 1, "wrong", &phases[i].wrong_samples);
    }
}

static void print_json(FILE *out, const struct options *o, const char *server, const char *version,
                       const struct calcify_phase *phases, unsigned done) {
    fputs("{\"program\":\"slate-load\",\"experiment\":\"calcify\",\"server\":", out);
    report_json_string(out, server);
    fputs(",\"server_version\":", out);
    report_json_string(out, version);
    fprintf(out, ",\"seed\":%" PRIu64 ",\"phases\":[", o->seed);
    for (unsigned i = 0; i < done; i++) {
        const struct calcify_phase *p = &phases[i];
        fprintf(out,
                "%s{\"value_bytes\":%" PRIu64 ",\"sets\":%" PRIu64
                ",\"class\":%u,\"errors\":%" PRIu64 ",\"not_stored\":%" PRIu64
                ",\"pages_elsewhere\":%" PRIu64 ",\"pages\":[",
                i ? "," : "", p->value_bytes, p->sets, p->class_id, p->errors, p->not_stored,
                p->pages_elsewhere);
        for (unsigned j = 0; j <= i; j++) {
            fprintf(out, "%s%" PRIu64, j ? "," : "", p->pages_after[j]);
        }
        fprintf(out,
                "],\"read_back\":{\"asked\":%" PRIu64 ",\"found\":%" PRIu64 ",\"wrong\":%" PRIu64
                "},\"error_samples\":[",
                p->asked, p->found, p->wrong);
        for (unsigned j = 0; j < p->error_samples.count; j++) {
            fputs(j ? "," : "", out);
            report_json_string(out, p->error_samples.list[j].text);
        }
        fputs("]}", out);
    }
    fputs("]}\n", out);
}

int calcify_run(const struct options *o, const struct address *address, const char *version,
                FILE *out, FILE *progress, struct failure *failure) {
    struct calcify_phase phases[CALCIFY_PHASES] = {0};
    struct phase_result *result = malloc(sizeof(*result));
    struct slab_stats before, after;
    unsigned done = 0;
    bool interrupted = false;
    uint64_t errors = 0, wrong = 0;

    if (result == NULL) {
        failure->exit_code = LOAD_IO;
        snprintf(failure->text, sizeof(failure->text), "out of memory");
        return LOAD_IO;
    }
    if (!read_slabs(address, o->timeout_s, &before, failure)) {
        free(result);
        return failure->exit_code;
    }
    while (done < CALCIFY_PHASES && !interrupted && failure->exit_code == 0) {
        struct options phase = phase_options(o, done);
        struct calcify_phase *p = &phases[done];
        driver_run("calcify", SOURCE_INSERT, &phase, address, progress, result);
        phase_result_fini(result);
        *failure = result->failure;
        interrupted = result->interrupted;
        if (failure->exit_code != 0 || !read_slabs(address, o->timeout_s, &after, failure)) {
            break;
        }
        p->value_bytes = phase_value_bytes[done];
        p->sets = result->tally.sets;
        p->errors = result->tally.errors.total;
        p->not_stored = result->tally.not_stored;
        p->error_samples = result->tally.errors;
        p->class_id = class_that_grew(&before, &after);
        note_pages(phases, done, &after);
        errors += p->errors;
        before = after;
        done++;
    }
    for (unsigned i = 0; i < done && !interrupted && failure->exit_code == 0; i++) {
        interrupted = !read_back(o, i, address, progress, result, &phases[i]);
        *failure = result->failure;
        wrong += phases[i].wrong;
    }
    free(result);
    if (o->json) {
        print_json(out, o, address->text, version, phases, done);
    } else {
        fprintf(out, "slate-load %s calcify, server %s (%s), seed %" PRIu64 "\n", SLATE_VERSION,
                address->text, version, o->seed);
        print_table(out, phases, done);
    }
    fflush(out);
    if (failure->exit_code != 0) {
        return failure->exit_code;
    }
    if (interrupted) {
        return LOAD_INTERRUPTED;
    }
    return wrong > 0 || (o->fail_on_errors && errors > 0) ? LOAD_WRONG : LOAD_OK;
}
