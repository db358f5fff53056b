/* The state of the server in words: what is wrong, how bad, and which key does something about it.
 *
 * Pure functions of the model: the same figures give the same words. Rates are means over
 * HEALTH_WINDOW_MS, so that one quiet second does not take an alarm away. One thread. */
#ifndef CONSOLE_BRAIN_HEALTH_H
#define CONSOLE_BRAIN_HEALTH_H
#include "facts/model.h"

enum { HEALTH_LIMIT = 12, HEALTH_WINDOW_MS = 10000 };

enum severity { SEVERITY_BAD, SEVERITY_WATCH, SEVERITY_OK };

struct health_line {
    enum severity severity;
    char key; /* does something about it; '\0': none does */
    char text[NOTE_BYTES];
};

/* Lines, worst first; returns how many (at least 1). now_ms and interval_ms tell how old the
 * figures may be. */
int health_assess(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                  struct health_line out[HEALTH_LIMIT]);

/* Is more memory held than the limit allows, for longer than a moment? Then words say how much. */
bool health_holds_too_much(const struct model *model, char words[NOTE_BYTES]);

/* Oldest LRU tail over the youngest among the classes that evict; NAN below two such classes. */
double health_tail_spread(const struct model *model);

/* True when the figures are older than a refresh and a half allows: show them as old. */
bool health_is_stale(const struct model *model, uint64_t now_ms, uint64_t interval_ms);

const char *severity_word(enum severity severity);
#endif
