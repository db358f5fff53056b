/* A change on trial: it goes back by itself when the time is up, or when evictions or the hit ratio
 * cross a bound, unless the operator keeps it. Pure functions of the model. One thread. */
#ifndef CONSOLE_ACT_TRIAL_H
#define CONSOLE_ACT_TRIAL_H
#include "act/action.h"

enum {
    TRIAL_WINDOW_MS = 10000, /* means of the guard; after a change of as long as it is old */
    TRIAL_SETTLE_MS = 5000,  /* before that, nothing is judged */
    TRIAL_MINUTES_MOST = 1440,
    TRIAL_EVICTIONS_LEAST = 10 /* a second: fewer cross no bound */
};

/* What the operator chose in the review. minutes 0: no trial. */
struct trial_terms {
    unsigned minutes;
    unsigned evictions_pct; /* back when evictions rise by more than this share, 0: whatever they do */
    unsigned hit_points;    /* back when the hit ratio falls by more than this, 0: whatever it does */
};

struct trial {
    bool is_on;
    struct trial_terms terms;
    uint64_t begun_ms;
    double evictions, hit_ratio; /* means of before; NAN: unknown, so not guarded */
    char title[NOTE_BYTES];
};

/* Takes the means of before: call it before the change is sent. */
void trial_prepare(struct trial *trial, const struct trial_terms *terms, const struct model *model,
                   const char *title);
void trial_begin(struct trial *trial, uint64_t now_ms);

/* True when it has to go back now; why says so in a sentence. */
bool trial_is_over(const struct trial *trial, const struct model *model, uint64_t now_ms, char *why,
                   size_t why_bytes);

/* When the time is up. */
uint64_t trial_due_ms(const struct trial *trial);

/* "trial: set automove mode to 2, back in 4:59 unless kept (K)". */
void trial_words(const struct trial *trial, uint64_t now_ms, char *out, size_t out_bytes);
#endif
