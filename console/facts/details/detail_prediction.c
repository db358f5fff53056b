#include "facts/details/detail_prediction.h"

#include "facts/stat_line.h"
#include "facts/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void prediction_want(struct prediction_list *list, const char orders[][PREDICTION_ORDER_BYTES],
                     unsigned count) {
    struct prediction_list before = *list;
    *list = (struct prediction_list){.tickets = before.tickets};
    for (unsigned i = 0; i < count && i < PREDICTION_LIMIT; i++) {
        struct prediction *prediction = &list->of[list->count++];
        snprintf(prediction->order, sizeof prediction->order, "%s", orders[i]);
        for (unsigned j = 0; j < before.count; j++) {
            if (strcmp(before.of[j].order, orders[i]) == 0) {
                *prediction = before.of[j];
            }
        }
    }
}

const struct prediction *prediction_next(struct prediction_list *list, uint64_t now_ms,
                                         char line[PREDICTION_ORDER_BYTES + 24]) {
    for (unsigned i = 0; i < list->count; i++) {
        struct prediction *prediction = &list->of[i];
        if (!prediction->is_requested || now_ms - prediction->requested_ms >= PREDICTION_EVERY_MS) {
            prediction->is_requested = true;
            prediction->requested_ms = now_ms;
            prediction->ticket = list->tickets++ % PREDICTION_TICKETS;
            snprintf(line, PREDICTION_ORDER_BYTES + 24, "slabs geometry %s dry", prediction->order);
            return prediction;
        }
    }
    return NULL;
}

static bool prediction_starts_with(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

/* "39 classes would hold 1.2 % fewer items in 64 pages, 1000 instead of 1010, and waste 9.9 % of
 * their memory instead of 10.1 %; it would be refused without force" */
static void prediction_read_figures(struct prediction *prediction) {
    double pct, waste;
    char less[8];
    unsigned classes;
    const char *at = strstr(prediction->words, "and waste ");
    if (at != NULL &&
        sscanf(prediction->words, "%u classes would hold %lf %% %7s items", &classes, &pct, less) ==
            3 &&
        sscanf(at, "and waste %lf %%", &waste) == 1) {
        prediction->classes = classes;
        prediction->items_pct = strcmp(less, "fewer") == 0 ? -pct : pct;
        prediction->waste_pct = waste;
    }
}

static void prediction_take_answer(struct prediction *prediction, const char *text,
                                   size_t text_bytes, uint64_t now_ms) {
    char whole[PREDICTION_ANSWER_BYTES];
    stat_line_printable(whole, sizeof whole, text, text_bytes);
    if (prediction_starts_with(whole, "BUSY")) {
        prediction->is_requested = false;
        return;
    }
    prediction->known_ms = now_ms;
    const char *blank = strchr(whole, ' ');
    bool is_error = prediction_starts_with(whole, "ERROR") ||
                    prediction_starts_with(whole, "CLIENT_ERROR") ||
                    prediction_starts_with(whole, "SERVER_ERROR");
    words_printf(prediction->words, sizeof prediction->words, "%s",
                 blank != NULL && !is_error ? blank + 1 : whole);
    prediction->classes = prediction->items_pct = prediction->waste_pct = NAN;
    prediction->is_known = true;
    bool is_predicted = prediction_starts_with(whole, "PREDICTED ");
    prediction->would_be_made = is_predicted && strstr(whole, "it would be refused") == NULL;
    if (is_predicted) {
        prediction_read_figures(prediction);
    }
}

void prediction_take(struct prediction_list *list, unsigned ticket, const char *text,
                     size_t text_bytes, uint64_t now_ms) {
    for (unsigned i = 0; i < list->count; i++) {
        if (list->of[i].is_requested && list->of[i].ticket == ticket) {
            prediction_take_answer(&list->of[i], text, text_bytes, now_ms);
        }
    }
}

const struct prediction *prediction_of(const struct prediction_list *list, const char *order) {
    for (unsigned i = 0; i < list->count; i++) {
        if (strcmp(list->of[i].order, order) == 0) {
            return list->of[i].is_known ? &list->of[i] : NULL;
        }
    }
    return NULL;
}
