#include "facts/detail_outlook.h"

#include "facts/stat_line.h"
#include "facts/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void outlook_want(struct outlook_list *list, const char orders[][OUTLOOK_ORDER_BYTES],
                  unsigned count) {
    struct outlook_list before = *list;
    *list = (struct outlook_list){.tickets = before.tickets};
    for (unsigned i = 0; i < count && i < OUTLOOK_LIMIT; i++) {
        struct outlook *outlook = &list->of[list->count++];
        snprintf(outlook->order, sizeof outlook->order, "%s", orders[i]);
        for (unsigned j = 0; j < before.count; j++) {
            if (strcmp(before.of[j].order, orders[i]) == 0) {
                *outlook = before.of[j];
            }
        }
    }
}

const struct outlook *outlook_next(struct outlook_list *list, uint64_t now_ms,
                             char line[OUTLOOK_ORDER_BYTES + 24]) {
    for (unsigned i = 0; i < list->count; i++) {
        struct outlook *outlook = &list->of[i];
        if (!outlook->is_asked || now_ms - outlook->asked_ms >= OUTLOOK_EVERY_MS) {
            outlook->is_asked = true;
            outlook->asked_ms = now_ms;
            outlook->ticket = list->tickets++ % OUTLOOK_TICKETS;
            snprintf(line, OUTLOOK_ORDER_BYTES + 24, "slabs geometry %s dry", outlook->order);
            return outlook;
        }
    }
    return NULL;
}

static bool starts_with(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

/* "39 classes would hold 1.2 % fewer items in 64 pages, 1000 instead of 1010, and waste 9.9 % of
 * their memory instead of 10.1 %; it would be refused without force" */
static void read_figures(struct outlook *outlook) {
    double pct, waste;
    char less[8];
    unsigned classes;
    const char *at = strstr(outlook->words, "and waste ");
    if (at != NULL &&
        sscanf(outlook->words, "%u classes would hold %lf %% %7s items", &classes, &pct,
               less) == 3 &&
        sscanf(at, "and waste %lf %%", &waste) == 1) {
        outlook->classes = classes;
        outlook->items_pct = strcmp(less, "fewer") == 0 ? -pct : pct;
        outlook->waste_pct = waste;
    }
}

static void take(struct outlook *outlook, const char *text, size_t text_bytes, uint64_t now_ms) {
    char whole[OUTLOOK_ANSWER_BYTES];
    stat_line_printable(whole, sizeof whole, text, text_bytes);
    if (starts_with(whole, "BUSY")) {
        outlook->is_asked = false;
        return;
    }
    outlook->known_ms = now_ms;
    const char *blank = strchr(whole, ' ');
    bool is_error = starts_with(whole, "ERROR") || starts_with(whole, "CLIENT_ERROR") ||
                    starts_with(whole, "SERVER_ERROR");
    words_printf(outlook->words, sizeof outlook->words, "%s",
                 blank != NULL && !is_error ? blank + 1 : whole);
    outlook->classes = outlook->items_pct = outlook->waste_pct = NAN;
    outlook->is_known = true;
    bool is_predicted = starts_with(whole, "PREDICTED ");
    outlook->would_be_made = is_predicted && strstr(whole, "it would be refused") == NULL;
    if (is_predicted) {
        read_figures(outlook);
    }
}

void outlook_take(struct outlook_list *list, unsigned ticket, const char *text, size_t text_bytes,
                  uint64_t now_ms) {
    for (unsigned i = 0; i < list->count; i++) {
        if (list->of[i].is_asked && list->of[i].ticket == ticket) {
            take(&list->of[i], text, text_bytes, now_ms);
        }
    }
}

const struct outlook *outlook_of(const struct outlook_list *list, const char *order) {
    for (unsigned i = 0; i < list->count; i++) {
        if (strcmp(list->of[i].order, order) == 0) {
            return list->of[i].is_known ? &list->of[i] : NULL;
        }
    }
    return NULL;
}
