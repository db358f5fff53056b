/* The state of the server in words: its faults, how bad they are, and the keys that help. The
 * faults are findings of lua/slate/judge/attention.lua. The lines on a lost link, on old figures
 * and on the general state are made here.
 *
 * The same figures give the same words. Cost: some 0.3 ms. One thread. */
#ifndef CONSOLE_BRAIN_HEALTH_H
#define CONSOLE_BRAIN_HEALTH_H
#include "brain/brain.h"

enum { HEALTH_LIMIT = 18, HEALTH_WINDOW_MS = 10000 };

struct health_line {
    enum tone tone; /* TONE_GOOD at best */
    char key; /* the key that helps; '\0': none */
    char text[NOTE_BYTES];
};

/* Writes lines, worst first; returns how many (at least 1). now_ms and interval_ms: to judge the
 * age of the figures. */
int health_assess(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                  struct health_line out[HEALTH_LIMIT]);

/* Adds the inquiries that the judgement needs, each at its interval, so that the findings are the
 * same in every view. */
void health_wants(const struct model *model, uint64_t now_ms, struct wants *wants);

/* True when the figures are older than a refresh and a half allows: show them as old. */
bool health_is_stale(const struct model *model, uint64_t now_ms, uint64_t interval_ms);

/* "BAD", "WARN", "note" or "ok". */
const char *health_word(enum tone tone);
#endif
