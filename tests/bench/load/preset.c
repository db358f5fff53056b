#include "preset.h"

#include <string.h>

#include "options.h"

/* Atikoglu et al., SIGMETRICS 2012 (etc, usr) give sizes and the share of reads, Yang et al., OSDI
 * 2020 (twitter) objects of 230 bytes, the median of the clusters' means, with a value five times as
 * long as its key. The laws of popularity and twitter's spread of sizes are our choice. */
static const struct preset {
    const char *name;
    const char *settings; /* "option=text" or "switch", separated by blanks */
} presets[] = {
    {"etc", "key-bytes=v30.7984,8.20449,0.078688 sizes=etc reads=96.7742 dist=zipf:0.99 "
            "keys=1000000 fill-on-miss"},
    {"usr", "key-bytes=o16,21 sizes=d2 reads=99.8 dist=zipf:0.99 keys=1000000 fill-on-miss"},
    {"twitter", "key-bytes=d38 sizes=l116,1 reads=70 dist=zipf:1.2 keys=1000000 fill-on-miss"},
};

#define PRESETS (sizeof(presets) / sizeof(*presets))

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

bool preset_apply(struct options *o, const char *name, char *why, size_t why_bytes) {
    for (size_t i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0) {
            return apply(o, presets[i].settings, why, why_bytes);
        }
    }
    int n = snprintf(why, why_bytes, "there is no preset '%s'; there are:", name);
    for (size_t i = 0; i < PRESETS && n > 0 && (size_t)n < why_bytes; i++) {
        n += snprintf(why + n, why_bytes - (size_t)n, " %s", presets[i].name);
    }
    return false;
}
