/* The state of the server in words: what is wrong, how bad, and which key does something about it.
 * What is wrong is told by lua/slate/judge/attention.lua; that the link is down or figures are old,
 * and how things stand, is told here.
 *
 * Functions of the model: the same figures give the same words. Cost: some 0.3 ms. One thread. */
#ifndef CONSOLE_BRAIN_HEALTH_H
#define CONSOLE_BRAIN_HEALTH_H
#include "brain/brain.h"

enum { HEALTH_LIMIT = 18, HEALTH_WINDOW_MS = 10000 };

struct health_line {
    enum tone tone; /* TONE_GOOD at best */
    char key; /* does something about it; '\0': none does */
    char text[NOTE_BYTES];
};

/* Lines, worst first; returns how many (at least 1). now_ms and interval_ms tell how old the
 * figures may be. */
int health_assess(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                  struct health_line out[HEALTH_LIMIT]);

/* Adds the inquiries on whose answers the judgement rests, each now and then, so that the same is
 * found whichever view is looked at. */
void health_wants(const struct model *model, uint64_t now_ms, struct wants *wants);

/* True when the figures are older than a refresh and a half allows: show them as old. */
bool health_is_stale(const struct model *model, uint64_t now_ms, uint64_t interval_ms);

/* "BAD", "WARN", "note" or "ok". */
const char *health_word(enum tone tone);
#endif
