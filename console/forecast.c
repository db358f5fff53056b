#include "forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The hit ratio that the curve gives for a size: between its points a straight line over the
 * logarithm of the size; NAN outside of them. */
static double curve_at(const char *curve, double bytes) {
    struct stat_line line;
    double below = NAN, below_ratio = NAN;
    for (const char *at = curve; stat_next(&at, &line);) {
        if (strncmp(line.name, "point:", 6) != 0) {
            continue;
        }
        double size = strtod(line.name + 6, NULL), ratio = strtod(line.value, NULL);
        if (size == bytes) {
            return ratio;
        }
        if (size > bytes) {
            double share = log(bytes / below) / log(size / below);
            return below_ratio + share * (ratio - below_ratio); /* NAN below the first point */
        }
        below = size;
        below_ratio = ratio;
    }
    return NAN;
}

static void forecast_memory(const struct action *action, const struct model *model, char *out,
                            size_t out_bytes) {
    const char *curve = answer_text(model_answers(model), INQUIRY_CURVE);
    double now = stat_number(model_now(model)->general[GENERAL_limit_maxbytes]);
    double wanted = strtod(action->value, NULL) * 1048576;
    double before = curve_at(curve, now), after = curve_at(curve, wanted);
    if (!isnan(before) && !isnan(after)) {
        snprintf(out, out_bytes, "hit ratio %.1f %% → %.1f %% under the LRU, by sampled keys", before * 100, after * 100);
    }
}

/* With "class:5:" before the names for one class. */
static void forecast_policy(const char *whatif, const char *prefix, const char *policy, char *out,
                            size_t out_bytes) {
    char name[64];
    snprintf(name, sizeof name, "%s%.20s:hit_ratio", prefix, policy);
    double ratio = stat_value_number(whatif, name);
    snprintf(name, sizeof name, "%s%.20s:difference", prefix, policy);
    double difference = stat_value_number(whatif, name);
    snprintf(name, sizeof name, "%s%.20s:doubt", prefix, policy);
    double doubt = stat_value_number(whatif, name);
    if (isnan(ratio) || isnan(difference)) {
        return;
    }
    bool is_sure = !(fabs(difference) <= doubt);
    snprintf(out, out_bytes, "hit ratio %.1f %%, %+.1f points ± %.1f from today's policy, by sampled keys%s", ratio * 100,
             difference * 100, doubt * 100, is_sure ? "" : ": no difference that could be told from chance");
}

static void forecast_geometry(const char *geometry, char *out, size_t out_bytes) {
    double before = stat_value_number(geometry, "waste_now");
    if (!isnan(before) && before > 0) {
        snprintf(out, out_bytes, "waste was %.1f %% when last measured; the server predicts, and refuses what gains nothing", before);
    } else {
        snprintf(out, out_bytes, "the server predicts the waste, and refuses what gains nothing");
    }
}

void forecast_words(const struct action *action, const struct model *model, char *out, size_t out_bytes) {
    const char *whatif = answer_text(model_answers(model), INQUIRY_WHATIF);
    char policy[SETTING_VALUE_BYTES], prefix[32] = "";
    out[0] = '\0';
    if (action->kind != ACTION_SET || model_now(model) == NULL || !model_now(model)->is_slated) {
        return;
    }
    snprintf(policy, sizeof policy, "%.*s", (int)strcspn(action->value, " "), action->value);
    if (strcmp(action->name, "maxbytes") == 0) {
        forecast_memory(action, model, out, out_bytes);
    } else if (strcmp(action->name, "policy") == 0) {
        forecast_policy(whatif, prefix, policy, out, out_bytes);
    } else if (strcmp(action->name, "class_policy") == 0) {
        snprintf(prefix, sizeof prefix, "class:%lu:", strtoul(action->value + strlen(policy), NULL, 10));
        forecast_policy(whatif, prefix, policy, out, out_bytes);
    } else if (strcmp(action->name, "geometry") == 0) {
        forecast_geometry(answer_text(model_answers(model), INQUIRY_GEOMETRY), out, out_bytes);
    }
}
