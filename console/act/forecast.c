#include "act/forecast.h"

#include "facts/words.h"

#include <stdio.h>
#include <string.h>

/* True for orders whose outlook the server can compute. Pausing and going on need no figures. */
static bool has_outlook(const char *order) {
    return strncmp(order, "factor ", 7) == 0 || strncmp(order, "sizes ", 6) == 0 ||
           strncmp(order, "auto", 4) == 0 || strcmp(order, "revert") == 0;
}

/* Writes the server's outlook for an order; "" when the server has none. */
static void outlook_words(const struct details *details, const char *order, char *out,
                          size_t out_bytes) {
    const struct outlook *outlook = details != NULL ? outlook_of(&details->outlooks, order) : NULL;
    out[0] = '\0';
    if (!has_outlook(order)) {
        return;
    }
    if (outlook == NULL) {
        snprintf(out, out_bytes, "asking the server for the effect");
    } else {
        words_printf(out, out_bytes, "%s%s",
                     outlook->would_be_made ? "" : "no gain: ", outlook->words);
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
        wants->inquiries |= INQUIRY_BIT(CLASS_CURVES) | INQUIRY_BIT(CURVE);
        wants->curves_first[0] = action->from;
        wants->curves_first[1] = action->to;
        return;
    }
    wants->inquiries |= INQUIRY_BIT(WHATIF) | INQUIRY_BIT(CURVE) | INQUIRY_BIT(GEOMETRY);
    if (strcmp(action->name, "geometry") == 0) {
        outlook_wants(action->value, wants);
    }
}

unsigned forecast_ask(const struct action *action, const struct model *model,
                      struct sentence out[SENTENCES_MOST]) {
    char outlook[OUTLOOK_WORDS_BYTES];
    outlook_words(model_details(model), action->value, outlook, sizeof outlook);
    struct asked_change change = {.from = action->from,
                                  .to = action->to,
                                  .name = action->name,
                                  .value = action->value,
                                  .outlook = outlook[0] != '\0' ? outlook : NULL};
    change.pages = action->kind == ACTION_MOVE_PAGES ? action->pages : 0;
    struct question question = {
        .module = "slate.judge.prediction", .function = "change", .change = &change};
    return brain_ask(model, &question, out);
}

const char *forecast_of(const struct sentence *sentences, unsigned count, const char *label) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(sentences[i].label, label) == 0) {
            return sentences[i].text;
        }
    }
    return "";
}
