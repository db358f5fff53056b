#include "simulate/simulate_options.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "control/sampling/policy_auto.h"
#include "server/config/options.h"
#include "server/process/process.h"

#define OBJECTS_MAX ((UINT32_C(1) << 31) - 1) /* bound of a miniature cache */
#define SHARE_MAX 100.0                       /* of the keys; more than all keys has no effect */
#define WARMUP_PERCENT_MAX 99.0               /* of the requests; those after them count */

enum own {
    OWN_TRACE,
    OWN_POLICY,
    OWN_AUTOMOVE,
    OWN_MEMORY,
    OWN_OBJECTS,
    OWN_VALUES,
    OWN_SCALE,
    OWN_RATE,
    OWN_FORMAT,
    OWN_SAMPLE,
    OWN_WARMUP,
    OWN_JSON,
    OWN_COUNT
};

static const struct {
    const char *name, *argument, *help; /* no argument: a flag */
} rows[OWN_COUNT] = {
    [OWN_TRACE] = {"simulate", "TRACE",
                   "a file of requests, plain or packed by gzip or zstd; -: standard input"},
    [OWN_POLICY] = {"policy", "NAME,...",
                    "eviction policies to compare, or all; default: the server's"},
    [OWN_AUTOMOVE] =
        {"automove", "MODE",
         "how pages move, as slab_automove; default off"},
    [OWN_MEMORY] = {"memory", "SIZE,...",
                    "memory limits of the server's cache, as for -m, which is the default"},
    [OWN_OBJECTS] = {"objects", "N,...",
                     "instead: caches of this many objects of equal size, or 10% of the keys"},
    [OWN_VALUES] = {"value-bytes", "SIZE",
                    "of values whose line has no size: 100, or log-normal l300,1 (default)"},
    [OWN_SCALE] = {"scale", "FACTOR", "multiply every value's size; default 1"},
    [OWN_RATE] = {"rate", "N",
                  "requests a second; default: as the trace has them, 10000 if it has no times"},
    [OWN_FORMAT] = {"format", "FORM",
                    "of the trace: keys, slate, twitter, cachelib or oracle; default: guessed"},
    [OWN_SAMPLE] = {"sample", "1/N",
                    "it has the requests of one key in N; default: as the trace says, else all"},
    [OWN_WARMUP] = {"warmup", "N",
                    "the first N requests fill the caches and do not count; or 50% of them"},
    [OWN_JSON] = {"json", NULL, "an object a line instead of a table"},
};

const struct evict_policy simulate_s3auto = {.name = "s3auto"};

void simulate_options_help(FILE *to) {
    fprintf(to, "Usage: slated --simulate TRACE [option ...]\n\n"
                "Replays a trace without a network, and prints the hits of each cache.\n\n");
    for (unsigned i = 0; i < OWN_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].argument ? "=" : "",
                 rows[i].argument ? rows[i].argument : "");
        fprintf(to, "  %-24s %s\n", left, rows[i].help);
    }
    fprintf(to, "\nThe server's options that shape its cache hold too: -f, -n, -I, -M, -C, "
                "--store, --index and those of\n-o. slated(8) says more.\n");
}

__attribute__((format(printf, 2, 3))) static bool options_refuse(char *why, const char *format,
                                                                 ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, SIMULATE_WHY_BYTES, format, ap);
    va_end(ap);
    return false;
}

/* Finds the simulator's option in a word; OWN_COUNT: none. `value` is the text after `=`, or
 * NULL. */
static enum own options_own(char *word, char **value) {
    if (strncmp(word, "--", 2) != 0) {
        return OWN_COUNT;
    }
    size_t bytes = strcspn(word + 2, "=");
    enum own o = 0;
    while (o < OWN_COUNT &&
           (strlen(rows[o].name) != bytes || strncmp(rows[o].name, word + 2, bytes) != 0)) {
        o++;
    }
    *value = word[2 + bytes] == '=' ? word + 2 + bytes + 1 : NULL;
    return o;
}

bool simulate_is_wanted(int argc, char **argv) {
    char *value;
    for (int i = 1; i < argc; i++) {
        if (options_own(argv[i], &value) == OWN_TRACE) {
            return true;
        }
    }
    return false;
}

/* --- one option's value --- */

/* Cuts the next word off a list separated by commas; NULL: none is left. */
static char *options_next_word(char **list) {
    char *word = *list;
    if (word != NULL) {
        *list = strchr(word, ',');
        if (*list != NULL) {
            *(*list)++ = '\0';
        }
    }
    return word;
}

static bool options_read_number(const char *option, const char *text, double least, double most,
                                bool is_whole, double *to, char *why) {
    if (!number_real(text, to) || *to < least || *to > most) {
        return options_refuse(why, "--%s wants a number from %.10g to %.10g, not \"%.40s\"", option,
                              least, most, text);
    }
    return !is_whole || *to == floor(*to) ||
           options_refuse(why, "--%s wants a whole number, not \"%.40s\"", option, text);
}

/* Reads a count, or a share with a percent sign; the other of the two becomes 0. */
static bool options_read_share(const char *option, char *text, double percent_max, double *share,
                               uint32_t *count, char *why) {
    size_t bytes = strlen(text);
    bool   is_share = bytes > 0 && text[bytes - 1] == '%';
    double number;
    if (is_share) {
        text[bytes - 1] = '\0';
    }
    if (!options_read_number(option, text, is_share ? 0.0001 : 1,
                             is_share ? percent_max : OBJECTS_MAX, !is_share, &number, why)) {
        return false;
    }
    *share = is_share ? number / 100 : 0;
    *count = is_share ? 0 : (uint32_t)number;
    return true;
}

static bool options_read_sizes(struct simulate_options *o, char *list, bool objects, char *why) {
    if (o->size_count > 0 && objects != o->by_objects) {
        return options_refuse(why,
                              "--memory and --objects exclude each other: caches are of one kind");
    }
    o->by_objects = objects;
    for (char *word; (word = options_next_word(&list)) != NULL; o->size_count++) {
        if (o->size_count == SIMULATE_GRID_MAX) {
            return options_refuse(why, "--%s takes at most %d sizes",
                                  objects ? "objects" : "memory", SIMULATE_GRID_MAX);
        }
        struct simulate_size *size = &o->sizes[o->size_count];
        if (objects && !options_read_share("objects", word, 100 * SHARE_MAX, &size->share,
                                           &size->objects, why)) {
            return false;
        }
        if (!objects) { /* the row of -m reads the size, and writes the error */
            static struct settings scratch;
            char problem[SETTING_WHY_BYTES];
            if (!setting_set(&scratch, setting_find("maxbytes", strlen("maxbytes")), word, false,
                             problem)) {
                return options_refuse(why, "--memory %s", problem);
            }
            size->memory_bytes = scratch.maxbytes;
        }
    }
    return true;
}

static bool options_add_policy(struct simulate_options *o, const struct evict_policy *policy,
                               char *why) {
    for (unsigned i = 0; i < o->policy_count; i++) {
        if (o->policies[i] == policy) {
            return options_refuse(why, "--policy names %s twice", policy->name);
        }
    }
    if (o->policy_count == SIMULATE_POLICIES_MAX) {
        return options_refuse(why, "--policy takes at most %d policies", SIMULATE_POLICIES_MAX);
    }
    o->policies[o->policy_count++] = policy;
    return true;
}

static bool options_refuse_policy(const char *name, char *why) {
    int at = snprintf(why, SIMULATE_WHY_BYTES, "--policy wants all, or some of");
    for (const struct evict_policy *const *p = evict_policies; *p != NULL; p++) {
        at += snprintf(why + at, SIMULATE_WHY_BYTES - (size_t)at, " %s,", (*p)->name);
    }
    snprintf(why + at, SIMULATE_WHY_BYTES - (size_t)at, " s3auto; not \"%.40s\"", name);
    return false;
}

static const struct evict_policy *options_find_policy(const char *name) {
    return strcmp(name, simulate_s3auto.name) == 0 ? &simulate_s3auto : evict_find(name);
}

static bool options_read_policies(struct simulate_options *o, char *list, char *why) {
    for (char *word; (word = options_next_word(&list)) != NULL;) {
        bool all = strcmp(word, "all") == 0, good = true;
        const struct evict_policy *policy = options_find_policy(word);
        if (!all && policy == NULL) {
            return options_refuse_policy(word, why);
        }
        for (const struct evict_policy *const *p = evict_policies; all && good && *p != NULL; p++) {
            /* all policies that evict */
            good = (*p)->victim == NULL || options_add_policy(o, *p, why);
        }
        if (!good || (!all && !options_add_policy(o, policy, why))) {
            return false;
        }
    }
    return true;
}

static bool options_read_automove(struct simulate_options *o, const char *word, char *why) {
    char list[SIMULATE_WHY_BYTES / 2];
    const char *argument;
    const struct automove_mode *mode = automove_find(word, &argument);
    if (mode == NULL) {
        automove_list(list, sizeof list);
        return options_refuse(why, "--automove wants one of %s, not \"%.40s\"", list, word);
    }
    int bytes = snprintf(o->automove, sizeof o->automove, "%s%s", mode->name, argument);
    return bytes < (int)sizeof o->automove ||
           options_refuse(why, "--automove: a mode with its settings has at most %zu characters",
                          sizeof o->automove - 1);
}

static bool options_read_sample(struct simulate_options *o, const char *text, char *why) {
    uint32_t one_in;
    bool good = strncmp(text, "1/", 2) == 0 && number_u32(text + 2, strlen(text + 2), &one_in) &&
                one_in > 0 && one_in <= TRACE_ONE_IN_MAX;
    o->sample = good ? 1.0 / one_in : 0;
    return good ||
           options_refuse(why,
                          "--sample wants one key in so many, such as 1/64, at most 1/1048576, not "
                          "\"%.40s\"",
                          text);
}

static bool options_read_own(struct simulate_options *o, enum own which, char *text, char *why) {
    double number;
    switch (which) {
    case OWN_POLICY:
        return options_read_policies(o, text, why);
    case OWN_AUTOMOVE:
        return options_read_automove(o, text, why);
    case OWN_MEMORY:
    case OWN_OBJECTS:
        return options_read_sizes(o, text, which == OWN_OBJECTS, why);
    case OWN_VALUES:
        return simulate_sizes_parse(text, &o->values) ||
               options_refuse(
                   why,
                   "--value-bytes wants a number of bytes or lMEDIAN,SIGMA, such as 100 or "
                   "l300,1, not \"%.40s\"",
                   text);
    case OWN_SCALE:
        return options_read_number("scale", text, 1e-6, 1e6, false, &o->values.scale, why);
    case OWN_RATE:
        if (!options_read_number("rate", text, 1, 1e9, true, &number, why)) {
            return false;
        }
        o->requests_per_s = (uint32_t)number;
        o->rate_given = true;
        return true;
    case OWN_FORMAT:
        o->format = trace_format_find(text);
        return o->format < TRACE_FORMAT_COUNT ||
               options_refuse(why,
                              "--format wants auto, keys, slate, twitter, cachelib or oracle, "
                              "not \"%.40s\"",
                              text);
    case OWN_SAMPLE:
        return options_read_sample(o, text, why);
    case OWN_WARMUP:
        return options_read_share("warmup", text, WARMUP_PERCENT_MAX, &o->warmup_share,
                                  &o->warmup_requests, why);
    case OWN_JSON:
        o->json = true;
        return true;
    case OWN_TRACE:
        o->trace = text;
        return true;
    case OWN_COUNT:
        break;
    }
    return false;
}

/* --- the command line --- */

/* Takes the simulator's options out of the words; the others, the server's, go to `server_argv`. */
static bool options_take_own(struct simulate_options *o, int argc, char **argv, char **server_argv,
                             int *server_argc, char *why) {
    for (int i = 0; i < argc; i++) {
        char *value = NULL;
        enum own which = i > 0 ? options_own(argv[i], &value) : OWN_COUNT;
        if (which == OWN_COUNT) {
            server_argv[(*server_argc)++] = argv[i];
            continue;
        }
        if (rows[which].argument == NULL && value != NULL) {
            return options_refuse(why, "--%s takes no value", rows[which].name);
        }
        if (rows[which].argument != NULL && value == NULL) {
            value = i + 1 < argc ? argv[++i] : NULL;
        }
        if (rows[which].argument != NULL && (value == NULL || *value == '\0')) {
            return options_refuse(why, "--%s needs a value: --%s=%s", rows[which].name,
                                  rows[which].name, rows[which].argument);
        }
        if (!options_read_own(o, which, value, why)) {
            return false;
        }
    }
    return true;
}

/* Checks that the mode of automove would start with the server's settings. */
static bool options_check_automove(struct simulate_options *o, char *why) {
    const struct settings *s = &o->settings;
    char problem[REASON_BYTES], dir[sizeof o->policy_dir];
    const char *found = process_policy_dir(s, dir, sizeof dir);
    snprintf(o->policy_dir, sizeof o->policy_dir, "%s", found != NULL ? found : "");
    if (o->automove[0] == '\0') {
        snprintf(o->automove, sizeof o->automove, "off");
    } else if (o->by_objects || strcmp(s->store, "slab") != 0) {
        return options_refuse(
            why, "--automove moves pages of slab classes: it needs --memory and --store=slab");
    }
    const struct automove_config cfg = {.policy_dir = found, .ratio = s->slab_automove_ratio,
                                        .window_s = (unsigned)s->slab_automove_window};
    return automove_check(&cfg, o->automove, problem) ||
           options_refuse(why, "--automove %s: %s", o->automove, problem);
}

/* Checks the server's settings with each size's memory. */
static bool options_check_memory(struct simulate_options *o, char *why) {
    struct settings s = o->settings;
    for (unsigned i = 0; i < o->size_count; i++) {
        s.maxbytes = o->sizes[i].memory_bytes;
        if (!o->by_objects && !settings_check(&s, why)) {
            return false;
        }
    }
    return true;
}

/* argv has room for one more word. */
static enum simulate_read options_read_server(struct simulate_options *o, int argc, char **argv,
                                              char *why) {
    char memory[48];
    if (o->size_count > 0 && !o->by_objects) {
        snprintf(memory, sizeof memory, "--memory-limit=%lluk",
                 (unsigned long long)(o->sizes[0].memory_bytes >> 10));
        argv[argc++] = memory;
    }
    switch (options_parse(argc, argv, 0, &o->settings, why)) {
    case OPTIONS_RUN:
        break;
    case OPTIONS_BAD:
        return SIMULATE_BAD;
    case OPTIONS_CHECK:
        options_refuse(why, "--check-config is for a server, and --simulate starts none");
        return SIMULATE_BAD;
    default:
        return SIMULATE_HELP;
    }
    if (o->settings.stray != NULL) {
        options_refuse(why, "%.200s is not an option", o->settings.stray);
        return SIMULATE_BAD;
    }
    if (o->size_count == 0) { /* even if -m is given */
        o->sizes[o->size_count++].memory_bytes = o->settings.maxbytes;
    }
    if (!options_check_memory(o, why)) {
        return SIMULATE_BAD;
    }
    bool samples = !o->by_objects && o->settings.sample_rate > 0;
    if (o->policy_count == 0) {
        const struct evict_policy *policy = options_find_policy(o->settings.policy);
        /* the default without samples */
        o->policies[o->policy_count++] =
            policy == &simulate_s3auto && !samples ? &evict_s3fifo : policy;
    }
    for (unsigned i = 0; i < o->policy_count; i++) {
        if (auto_follows(o->policies[i]->name) && !samples) {
            options_refuse(why,
                           "policy %s follows miniatures of the server's cache: it needs --memory, "
                           "and a sample_rate above 0",
                           o->policies[i]->name);
            return SIMULATE_BAD;
        }
    }
    return options_check_automove(o, why) ? SIMULATE_RUN : SIMULATE_BAD;
}

enum simulate_read simulate_options_read(int argc, char **argv, struct simulate_options *o,
                                         char *why) {
    *o = (struct simulate_options){
        .values = {.drawn = true, .median_bytes = 300, .sigma = 1, .scale = 1},
        .requests_per_s = 10000};
    for (int i = 1; i < argc; i++) { /* even if an option lacks its value */
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return SIMULATE_HELP;
        }
    }
    char **server_argv = calloc((size_t)argc + 2, sizeof *server_argv);
    int    server_argc = 0;
    if (server_argv == NULL) {
        options_refuse(why, "out of memory");
        return SIMULATE_BAD;
    }
    enum simulate_read how = options_take_own(o, argc, argv, server_argv, &server_argc, why)
                                 ? options_read_server(o, server_argc, server_argv, why)
                                 : SIMULATE_BAD;
    free(server_argv);
    return how;
}

void simulate_options_free(struct simulate_options *o) {
    free(o->settings.config_text);
    o->settings.config_text = NULL;
}
