/* Rings of samples: one column of times, any number of series of values. A series takes memory only
 * at its second different value, or at a gap: most series of an idle class are constant. A sample
 * that was not measured is NAN. Times never go backwards. One thread. */
#ifndef CONSOLE_FACTS_HISTORY_H
#define CONSOLE_FACTS_HISTORY_H
#include <stdbool.h>
#include <stdint.h>

struct series {
    float *values; /* NULL: `flat` from sample `first` to `last`; last 0: never measured */
    float flat;
    uint64_t first, last;
};

struct history {
    unsigned capacity, used, head; /* head: slot of the next sample */
    unsigned fresh;                /* samples since the last history_break */
    unsigned series_count;
    uint64_t samples; /* the count so far, which is the newest sample's number */
    uint64_t *at_ms;
    struct series *series;
};

/* False when out of memory. */
bool history_init(struct history *history, unsigned capacity, unsigned series_count);
void history_fini(struct history *history);

/* Starts a sample: every series is NAN in it until set. */
void history_begin(struct history *history, uint64_t at_ms);
/* Sets a value of the newest sample. A series that can't be allocated stays empty: slatetop works
 * without history. */
void history_set(struct history *history, unsigned series, double value);

/* Marks a restart of the server: means and changes no longer use earlier samples, graphs still
 * do. */
void history_break(struct history *history);

/* Empties one series: its number now stands for another thing. */
void history_clear(struct history *history, unsigned series);

/* Value `back` samples before the newest (0 = newest); NAN when there is none. */
float history_value(const struct history *history, unsigned series, unsigned back);
uint64_t history_time(const struct history *history, unsigned back);

/* Mean over the samples younger than window_ms before the newest, weighted by the time that each
 * covers. */
double history_mean(const struct history *history, unsigned series, uint64_t window_ms);
/* The time that such a mean covers: window_ms, or less if the history is shorter. */
uint64_t history_covered_ms(const struct history *history, uint64_t window_ms);
/* Newest value minus the oldest measured one within the window. */
double history_change(const struct history *history, unsigned series, uint64_t window_ms);
/* The newest samples, oldest first. */
int history_copy(const struct history *history, unsigned series, float *out, int limit);
#endif
