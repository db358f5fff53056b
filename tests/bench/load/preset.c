#include "preset.h"

#include <string.h>

#include "options.h"

struct named_load {
    const char *name;
    const char *settings; /* "option=text" or "switch", separated by blanks */
    const char *source;
};

static const struct named_load presets[] = {
    {"etc",
     "key-bytes=v30.7984,8.20449,0.078688 sizes=etc reads=96.7742 dist=zipf:0.99 keys=1000000 "
     "fill-on-miss",
     "Facebook's ETC pool, the general-purpose one: sizes of keys (generalised extreme value) and "
     "of values (table below 15 bytes, generalised Pareto above) and 30 gets to a set, from "
     "Atikoglu et al., SIGMETRICS 2012. The paper gives no law of popularity: zipf 0.99 is our "
     "choice."},
    {"usr", "key-bytes=o16,21 sizes=d2 reads=99.8 dist=zipf:0.99 keys=1000000 fill-on-miss",
     "Facebook's USR pool, user-account status: keys of 16 or 21 bytes, values of 2 bytes, 99.8 % "
     "gets, from Atikoglu et al., SIGMETRICS 2012. The law of "
     "popularity is our choice."},
    {"twitter", "key-bytes=d38 sizes=l116,1 reads=70 dist=zipf:1.2 keys=1000000 fill-on-miss",
     "A write-heavy cluster after Yang et al., OSDI 2020: objects of 230 bytes (the median of the "
     "clusters' means) with a value five times as long as its key (the median ratio), 30 % writes "
     "(over a third of the clusters have more), zipf above 1. The log-normal spread of sizes and "
     "the exact exponent are our choice."},
};

/* Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC 2010, section 4.
 * Scans (e) have no counterpart in a cache. */
static const char ycsb_source[] = "YCSB core workload, Cooper et al., SoCC 2010";
static const struct named_load workloads[] = {
    {"a", "reads=50 method=set dist=zipf:0.99 sizes=d1000", ycsb_source},
    {"b", "reads=95 method=set dist=zipf:0.99 sizes=d1000", ycsb_source},
    {"c", "reads=100 method=get dist=zipf:0.99 sizes=d1000", ycsb_source},
    {"d", "reads=95 method=set inserts=100 dist=latest:0.99 sizes=d1000", ycsb_source},
};

static bool apply(struct options *o, const char *settings, char *why, size_t why_bytes) {
    char text[64];

    while (*settings != '\0') {
        size_t n = strcspn(settings, " ");
        memcpy(text, settings, n);
        text[n] = '\0';
        char *equals = strchr(text, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        if (!option_set(o, text, equals ? equals + 1 : NULL, why, why_bytes)) {
            return false;
        }
        settings += n;
        settings += strspn(settings, " ");
    }
    return true;
}

static bool find_and_apply(struct options *o, const char *what, const struct named_load *loads,
                           size_t count, const char *name, char *why, size_t why_bytes) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(loads[i].name, name) == 0) {
            return apply(o, loads[i].settings, why, why_bytes);
        }
    }
    int n = snprintf(why, why_bytes, "there is no %s '%s'; there are:", what, name);
    for (size_t i = 0; i < count && n > 0 && (size_t)n < why_bytes; i++) {
        n += snprintf(why + n, why_bytes - (size_t)n, " %s", loads[i].name);
    }
    return false;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

bool preset_apply(struct options *o, const char *name, char *why, size_t why_bytes) {
    return find_and_apply(o, "preset", presets, COUNT(presets), name, why, why_bytes);
}

bool workload_apply(struct options *o, const char *name, char *why, size_t why_bytes) {
    return find_and_apply(o, "workload", workloads, COUNT(workloads), name, why, why_bytes);
}

static void print_loads(FILE *out, const char *option, const struct named_load *loads,
                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "--%s %s\n  options: %s\n  source: %s\n", option, loads[i].name,
                loads[i].settings, loads[i].source);
    }
}

void presets_print(FILE *out) {
    print_loads(out, "preset", presets, COUNT(presets));
    print_loads(out, "workload", workloads, COUNT(workloads));
}
