/* Answers from sampled keys, and sizes of items: slated's stats curve, whatif, hotkeys and
 * sizehist, and memcached's stats sizes.
 *
 * Plain data and its parsers; each parser overwrites all. A value that the server did not send is
 * NAN, or a count of 0. Pure functions. */
#ifndef CONSOLE_FACTS_DETAILS_DETAIL_SAMPLE_H
#define CONSOLE_FACTS_DETAILS_DETAIL_SAMPLE_H
#include "facts/stats_snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CURVE_POINTS = 24, CURVE_SIZES = 4, POLICY_LIMIT = 16, POLICY_NAME_BYTES = 16 };
enum { HOT_KEYS_SHOWN = 64, HOT_KEY_BYTES = 256, SAMPLE_WHY_BYTES = 200 };
enum { SIZE_BINS = 216 }; /* eight an octave, from 8 bytes to 1 GiB */

/* The hit ratio that other amounts of memory would give under the LRU. */
struct curve {
    double bytes, reads; /* memory now; sampled reads the curve is made from */
    double hit_ratio;    /* with today's bytes */
    unsigned count;
    struct {
        double bytes, hit_ratio;
    } points[CURVE_POINTS];      /* ascending */
    double at_size[CURVE_SIZES]; /* hit ratios of the cache under its own policy, with 0.5, 1, 2
                                    and 4 times the memory */
};
void curve_parse(struct curve *curve, const char *text, size_t text_bytes);
/* False if the curve was never parsed. A curve of too few reads is known, but has no points. */
bool curve_is_known(const struct curve *curve);
/* The hit ratio at a number of bytes, by straight lines between the points; NAN outside of them. */
double curve_value_at(const struct curve *curve, double bytes);

struct policy_guess {
    char name[POLICY_NAME_BYTES];
    double hit_ratio, difference; /* the difference is from today's policy */
};
/* The hit ratios that other eviction policies would have. */
struct whatif {
    bool is_sampling;
    char policy[POLICY_NAME_BYTES], why[SAMPLE_WHY_BYTES];
    unsigned count;
    struct policy_guess policies[POLICY_LIMIT];
};
void whatif_parse(struct whatif *whatif, const char *text, size_t text_bytes);

/* At least count - error - doubt, at most count + doubt; doubt: zero if not reported. */
struct hot_figure {
    double count, error, doubt;
};
struct hot_key {
    char key[HOT_KEY_BYTES];
    struct hot_figure requests, bytes; /* bytes of values read */
};
struct hot_keys {
    struct hot_figure requests, bytes; /* of all keys: only the count is known */
    double seconds;                    /* the time in which they came */
    unsigned count;
    struct hot_key keys[HOT_KEYS_SHOWN];
};
void hot_keys_parse(struct hot_keys *hot, const char *text, size_t text_bytes);

/* Items by size, header and key included. */
struct size_bins {
    bool is_tracked; /* memcached: "stats sizes" is on */
    double items, item_bytes, taken_bytes;
    double bins[SIZE_BINS];
};
void size_bins_parse(struct size_bins *sizes, const char *text, size_t text_bytes);
/* Fills bins by each class's mean size, for servers that report no sizes: a rough picture. */
void size_bins_by_class(struct size_bins *sizes, const struct snapshot *now);
/* The share of the items' memory that items do not fill, ends of pages included, as the server
 * counts it; NAN when the server does not report it. */
double size_bins_waste(const struct size_bins *sizes);
/* The largest size of a bin, in bytes, and the bin of a size. */
double size_bin_end(unsigned bin);
unsigned size_bin_of(double bytes);
#endif
