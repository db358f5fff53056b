#include "act/trial.h"

#include <math.h>
#include <stdio.h>

void trial_prepare(struct trial *trial, const struct trial_terms *terms, const struct model *model,
                   const char *title) {
    *trial = (struct trial){.terms = *terms};
    trial->evictions = model_mean(model, METRIC_EVICTIONS, TRIAL_WINDOW_MS);
    trial->hit_ratio = model_mean(model, METRIC_HIT_RATIO, TRIAL_WINDOW_MS);
    snprintf(trial->title, sizeof trial->title, "%s", title);
}

void trial_begin(struct trial *trial, uint64_t now_ms) {
    trial->is_on = true;
    trial->begun_ms = now_ms;
}

uint64_t trial_due_ms(const struct trial *trial) {
    return trial->is_on ? trial->begun_ms + (uint64_t)trial->terms.minutes * 60000 : UINT64_MAX;
}

bool trial_is_over(const struct trial *trial, const struct model *model, uint64_t now_ms, char *why,
                   size_t why_bytes) {
    if (now_ms >= trial_due_ms(trial)) {
        snprintf(why, why_bytes, "%u min are over", trial->terms.minutes);
        return true;
    }
    uint64_t age_ms = now_ms - trial->begun_ms;
    if (age_ms < TRIAL_SETTLE_MS) {
        return false;
    }
    uint64_t window_ms = age_ms < TRIAL_WINDOW_MS ? age_ms : TRIAL_WINDOW_MS;
    double evictions = model_mean(model, METRIC_EVICTIONS, window_ms);
    double hit_ratio = model_mean(model, METRIC_HIT_RATIO, window_ms);
    double evictions_most = fmax(trial->evictions * (1 + trial->terms.evictions_pct / 100.0), TRIAL_EVICTIONS_LEAST);
    if (trial->terms.evictions_pct > 0 && evictions > evictions_most) {
        snprintf(why, why_bytes, "evictions rose to %.0f/s from %.0f/s, over the bound of %.0f/s", evictions,
                 trial->evictions, evictions_most);
        return true;
    }
    double hit_least = trial->hit_ratio - trial->terms.hit_points / 100.0;
    if (trial->terms.hit_points > 0 && hit_ratio < hit_least) {
        snprintf(why, why_bytes, "the hit ratio fell to %.1f %% from %.1f %%, under the bound of %.1f %%",
                 hit_ratio * 100, trial->hit_ratio * 100, hit_least * 100);
        return true;
    }
    return false;
}

void trial_words(const struct trial *trial, uint64_t now_ms, char *out, size_t out_bytes) {
    uint64_t due_ms = trial_due_ms(trial);
    unsigned left_s = now_ms < due_ms ? (unsigned)((due_ms - now_ms + 999) / 1000) : 0;
    snprintf(out, out_bytes, "trial, back in %u:%02u unless kept (K): %s", left_s / 60, left_s % 60, trial->title);
}
