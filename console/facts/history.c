#include "facts/history.h"

#include <math.h>
#include <stdlib.h>

static unsigned history_slot_of(const struct history *history, unsigned back) {
    return (history->head + history->capacity - 1 - back) % history->capacity;
}

bool history_init(struct history *history, unsigned capacity, unsigned series_count) {
    *history = (struct history){.capacity = capacity, .series_count = series_count};
    history->at_ms = calloc(capacity, sizeof *history->at_ms);
    history->series = calloc(series_count, sizeof *history->series);
    if (history->at_ms == NULL || history->series == NULL) {
        history_fini(history);
        return false;
    }
    return true;
}

void history_fini(struct history *history) {
    for (unsigned i = 0; history->series != NULL && i < history->series_count; i++) {
        free(history->series[i].values);
    }
    free(history->series);
    free(history->at_ms);
    *history = (struct history){0};
}

void history_begin(struct history *history, uint64_t at_ms) {
    history->at_ms[history->head] = at_ms;
    for (unsigned i = 0; i < history->series_count; i++) {
        if (history->series[i].values != NULL) {
            history->series[i].values[history->head] = NAN;
        }
    }
    history->head = (history->head + 1) % history->capacity;
    history->samples++;
    history->used += history->used < history->capacity;
    history->fresh += history->fresh < history->capacity;
}

void history_break(struct history *history) {
    history->fresh = 0;
}

/* True if the newest value continues the flat line of a series without memory. */
static bool history_stays_flat(const struct history *history, struct series *series, float value) {
    if (series->last == 0 || series->first == history->samples) {
        series->first = history->samples;
        series->flat = value;
    } else if (series->last + 1 < history->samples || value != series->flat) {
        return false;
    }
    series->last = history->samples;
    return true;
}

static float history_flat_value(const struct history *history, const struct series *series,
                                unsigned back) {
    uint64_t number = history->samples - back;
    bool is_within = series->last > 0 && number >= series->first && number <= series->last;
    return is_within ? series->flat : NAN;
}

static bool history_make_room(const struct history *history, struct series *series) {
    float *values = malloc(history->capacity * sizeof *values);
    for (unsigned back = 0; values != NULL && back < history->capacity; back++) {
        values[history_slot_of(history, back)] =
            back < history->used ? history_flat_value(history, series, back) : NAN;
    }
    series->values = values;
    return values != NULL;
}

void history_set(struct history *history, unsigned series, double value) {
    struct series *to = &history->series[series];
    if (to->values == NULL &&
        (history_stays_flat(history, to, (float)value) || !history_make_room(history, to))) {
        return;
    }
    to->values[history_slot_of(history, 0)] = (float)value;
}

void history_clear(struct history *history, unsigned series) {
    free(history->series[series].values);
    history->series[series] = (struct series){0};
}

float history_value(const struct history *history, unsigned series, unsigned back) {
    if (back >= history->used) {
        return NAN;
    }
    const struct series *from = &history->series[series];
    return from->values != NULL ? from->values[history_slot_of(history, back)]
                                : history_flat_value(history, from, back);
}

uint64_t history_time(const struct history *history, unsigned back) {
    return back < history->used ? history->at_ms[history_slot_of(history, back)] : 0;
}

double history_mean(const struct history *history, unsigned series, uint64_t window_ms) {
    double sum = 0, weight = 0;
    for (unsigned back = 0; back + 1 < history->fresh; back++) {
        if (history_time(history, 0) - history_time(history, back) >= window_ms) {
            break;
        }
        float value = history_value(history, series, back);
        double span = (double)(history_time(history, back) - history_time(history, back + 1));
        if (!isnan(value) && span > 0) {
            sum += (double)value * span;
            weight += span;
        }
    }
    return weight > 0 ? sum / weight : NAN;
}

uint64_t history_covered_ms(const struct history *history, uint64_t window_ms) {
    uint64_t covered_ms =
        history->fresh > 0 ? history_time(history, 0) - history_time(history, history->fresh - 1)
                           : 0;
    return covered_ms < window_ms ? covered_ms : window_ms;
}

double history_change(const struct history *history, unsigned series, uint64_t window_ms) {
    float newest = history_value(history, series, 0), oldest = newest;
    for (unsigned back = 1; back < history->fresh; back++) {
        if (history_time(history, 0) - history_time(history, back) > window_ms) {
            break;
        }
        float value = history_value(history, series, back);
        oldest = isnan(value) ? oldest : value;
    }
    return (double)newest - (double)oldest;
}

int history_copy(const struct history *history, unsigned series, float *out, int limit) {
    int count = (int)history->used < limit ? (int)history->used : limit;
    for (int i = 0; i < count; i++) {
        out[i] = history_value(history, series, (unsigned)(count - 1 - i));
    }
    return count;
}
