#include "act/forecast.h"

#include "facts/words.h"

#include <stdio.h>
#include <string.h>

/* True for orders whose prediction the server can compute. Pausing and going on need no figures. */
static bool forecast_has_prediction(const char *order) {
    return strncmp(order, "factor ", 7) == 0 || strncmp(order, "sizes ", 6) == 0 ||
           strncmp(order, "auto", 4) == 0 || strcmp(order, "revert") == 0;
}

/* Writes the server's prediction for an order; "" when the server has none. */
static void forecast_prediction_words(const struct details *details, const char *order, char *out,
                                      size_t out_bytes) {
    const struct prediction *prediction =
        details != NULL ? prediction_of(&details->predictions, order) : NULL;
    out[0] = '\0';
    if (!forecast_has_prediction(order)) {
        return;
    }
    if (prediction == NULL) {
        snprintf(out, out_bytes, "waiting for the server's prediction");
    } else {
        words_printf(out, out_bytes, "%s%s",
                     prediction->would_be_made ? "" : "no gain: ", prediction->words);
    }
}

void forecast_wants_order(const char *order, struct wants *wants) {
    if (forecast_has_prediction(order) && wants->order_count < PREDICTION_LIMIT) {
        snprintf(wants->orders[wants->order_count++], PREDICTION_ORDER_BYTES, "%s", order);
        wants->inquiries |= INQUIRY_BIT(PREDICTIONS);
    }
}

void forecast_wants(const struct action *action, struct wants *wants) {
    if (action->kind != ACTION_SET) {
        wants->inquiries |= INQUIRY_BIT(CLASS_CURVES) | INQUIRY_BIT(CURVE);
        wants->curves_first[0] = action->from;
        wants->curves_first[1] = action->to;
        return;
    }
    wants->inquiries |= INQUIRY_BIT(WHATIF) | INQUIRY_BIT(CURVE) | INQUIRY_BIT(GEOMETRY);
    if (strcmp(action->name, "geometry") == 0) {
        forecast_wants_order(action->value, wants);
    }
}

unsigned forecast_query(const struct action *action, const struct model *model,
                        struct sentence out[SENTENCES_MOST]) {
    char prediction[PREDICTION_WORDS_BYTES];
    forecast_prediction_words(model_details(model), action->value, prediction, sizeof prediction);
    struct proposed_change change = {.from = action->from,
                                     .to = action->to,
                                     .name = action->name,
                                     .value = action->value,
                                     .prediction = prediction[0] != '\0' ? prediction : NULL};
    change.pages = action->kind == ACTION_MOVE_PAGES ? action->pages : 0;
    struct question question = {
        .module = "slate.judge.prediction", .function = "change", .change = &change};
    return brain_query(model, &question, out);
}

const char *forecast_of(const struct sentence *sentences, unsigned count, const char *label) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(sentences[i].label, label) == 0) {
            return sentences[i].text;
        }
    }
    return "";
}
