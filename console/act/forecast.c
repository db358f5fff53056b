#include "act/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forecast_memory(const struct action *action, const struct model *model, char *out,
                            size_t out_bytes) {
    const struct details *details = model_details(model);
    if (!detail_is_known(details, INQUIRY_CURVE)) {
        return;
    }
    double now = stat_number(model_now(model)->general[GENERAL_limit_maxbytes]);
    double wanted = strtod(action->value, NULL) * 1048576;
    double before = curve_value_at(&details->curve, now);
    double after = curve_value_at(&details->curve, wanted);
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

/* Orders that the server can be asked about; pausing and going on need no figures. */
static bool has_outlook(const char *order) {
    return strncmp(order, "factor ", 7) == 0 || strncmp(order, "sizes ", 6) == 0 ||
           strncmp(order, "auto", 4) == 0 || strcmp(order, "revert") == 0;
}

static void forecast_geometry(const struct details *details, const char *order, char *out,
                              size_t out_bytes) {
    const struct outlook *outlook = details != NULL ? outlook_of(&details->outlooks, order) : NULL;
    if (!has_outlook(order)) {
        return;
    }
    if (outlook == NULL) {
        snprintf(out, out_bytes, "asking the server what it would bring");
    } else {
        snprintf(out, out_bytes, "%s%.240s", outlook->would_be_made ? "" : "no gain: ", outlook->words);
    }
}

void outlook_wants(const char *order, struct wants *wants) {
    if (has_outlook(order) && wants->order_count < OUTLOOK_LIMIT) {
        snprintf(wants->orders[wants->order_count++], OUTLOOK_ORDER_BYTES, "%s", order);
        wants->inquiries |= INQUIRY_BIT(OUTLOOKS);
    }
}

void forecast_wants(const struct action *action, struct wants *wants) {
    if (action->kind != ACTION_SET) {
        return;
    }
    wants->inquiries |= INQUIRY_BIT(WHATIF) | INQUIRY_BIT(CURVE) | INQUIRY_BIT(GEOMETRY);
    if (strcmp(action->name, "geometry") == 0) {
        outlook_wants(action->value, wants);
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
        forecast_geometry(model_details(model), action->value, out, out_bytes);
    }
}
