#include "facts/details/detail_sample.h"

#include "facts/stat_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- curves --- */

void curve_parse(struct curve *curve, const char *text, size_t text_bytes) {
    const struct stat_slot slots[] = {STAT_NUMBER("bytes", curve->bytes),
                                      STAT_NUMBER("reads", curve->reads),
                                      STAT_NUMBER("lru_hit_ratio", curve->hit_ratio),
                                      STAT_NUMBER("hit_ratio_x0.5", curve->at_size[0]),
                                      STAT_NUMBER("hit_ratio_x1", curve->at_size[1]),
                                      STAT_NUMBER("hit_ratio_x2", curve->at_size[2]),
                                      STAT_NUMBER("hit_ratio_x4", curve->at_size[3])};
    struct stat_line line;
    *curve = (struct curve){.bytes = NAN, .reads = NAN, .hit_ratio = NAN};
    for (int i = 0; i < CURVE_SIZES; i++) {
        curve->at_size[i] = NAN;
    }
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        STAT_LINE_TAKE(slots, line.name, line.value);
        if (strncmp(line.name, "point:", 6) != 0 || curve->count == CURVE_POINTS) {
            continue;
        }
        double bytes = stat_line_number(line.name + 6), hit_ratio = stat_line_number(line.value);
        bool ascends = curve->count == 0 || bytes > curve->points[curve->count - 1].bytes;
        if (ascends && bytes > 0 && hit_ratio >= 0 && hit_ratio <= 1) {
            curve->points[curve->count].bytes = bytes;
            curve->points[curve->count++].hit_ratio = hit_ratio;
        }
    }
}

bool curve_is_known(const struct curve *curve) {
    return curve->bytes != 0; /* NAN if the server did not report it */
}

double curve_value_at(const struct curve *curve, double bytes) {
    for (unsigned i = 1; i < curve->count; i++) {
        double left = curve->points[i - 1].bytes, right = curve->points[i].bytes;
        if (bytes >= left && bytes <= right) {
            double share = (bytes - left) / (right - left);
            return curve->points[i - 1].hit_ratio * (1 - share) +
                   curve->points[i].hit_ratio * share;
        }
    }
    return NAN;
}

/* --- what if --- */

/* Finds the policy of this name, or adds it. NULL: there are too many policies. */
static struct policy_guess *sample_guess_named(struct whatif *whatif, const char *name, size_t n) {
    struct policy_guess blank = {.hit_ratio = NAN, .difference = NAN};
    memcpy(blank.name, name, n < POLICY_NAME_BYTES ? n : POLICY_NAME_BYTES - 1);
    for (unsigned i = 0; i < whatif->count; i++) {
        if (stat_line_is(whatif->policies[i].name, blank.name)) {
            return &whatif->policies[i];
        }
    }
    if (whatif->count == POLICY_LIMIT) {
        return NULL;
    }
    whatif->policies[whatif->count] = blank;
    return &whatif->policies[whatif->count++];
}

void whatif_parse(struct whatif *whatif, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(whatif, 0, sizeof *whatif);
    const struct stat_slot slots[] = {STAT_TEXT("policy", whatif->policy),
                                      STAT_TEXT("why", whatif->why)};
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        const char *colon = strchr(line.name, ':');
        if (colon == NULL) {
            STAT_LINE_TAKE(slots, line.name, line.value);
            whatif->is_sampling |=
                stat_line_is(line.name, "sampling") && stat_line_is(line.value, "1");
            /* stats of classes are for Lua: slate.judge.prediction */
        } else if (strncmp(line.name, "class:", 6) != 0) {
            struct policy_guess *guess =
                sample_guess_named(whatif, line.name, (size_t)(colon - line.name));
            if (guess != NULL) {
                const struct stat_slot of_policy[] = {STAT_NUMBER("hit_ratio", guess->hit_ratio),
                                                      STAT_NUMBER("difference", guess->difference)};
                STAT_LINE_TAKE(of_policy, colon + 1, line.value);
            }
        }
    }
}

/* --- hot keys --- */

void hot_keys_parse(struct hot_keys *hot, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(hot, 0, sizeof *hot);
    hot->requests.count = hot->bytes.count = hot->seconds = NAN;
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned number;
        const char *field;
        const struct stat_slot totals[] = {STAT_NUMBER("requests", hot->requests.count),
                                           STAT_NUMBER("bytes", hot->bytes.count),
                                           STAT_NUMBER("seconds", hot->seconds)};
        STAT_LINE_TAKE(totals, line.name, line.value);
        if (!stat_line_numbered(line.name, HOT_KEYS_SHOWN + 1, &number, &field) || number == 0) {
            continue;
        }
        struct hot_key *key = &hot->keys[number - 1];
        if (number > hot->count + 1) {
            continue; /* numbers come one after the other */
        }
        if (number == hot->count + 1) {
            *key = (struct hot_key){.requests = {NAN, NAN, 0}, .bytes = {NAN, NAN, 0}};
            hot->count = number;
        }
        struct hot_figure *r = &key->requests, *b = &key->bytes;
        const struct stat_slot slots[] = {STAT_NUMBER("requests", r->count),
                                          STAT_NUMBER("error", r->error),
                                          STAT_NUMBER("doubt", r->doubt),
                                          STAT_NUMBER("bytes", b->count),
                                          STAT_NUMBER("bytes_error", b->error),
                                          STAT_NUMBER("bytes_doubt", b->doubt),
                                          STAT_TEXT("key", key->key)};
        STAT_LINE_TAKE(slots, field, line.value);
    }
}

/* --- sizes --- */

double size_bin_end(unsigned bin) {
    double octave = ldexp(8, (int)(bin / 8));
    return octave + octave / 8 * (bin % 8 + 1);
}

unsigned size_bin_of(double bytes) {
    unsigned bin = 0;
    while (bin + 1 < SIZE_BINS && size_bin_end(bin) < bytes) {
        bin++;
    }
    return bin;
}

double size_bins_waste(const struct size_bins *sizes) {
    return sizes->taken_bytes > 0 ? fmax(1 - sizes->item_bytes / sizes->taken_bytes, 0) : NAN;
}

void size_bins_parse(struct size_bins *sizes, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(sizes, 0, sizeof *sizes);
    sizes->items = sizes->item_bytes = sizes->taken_bytes = NAN;
    sizes->is_tracked = true;
    const struct stat_slot slots[] = {STAT_NUMBER("items", sizes->items),
                                      STAT_NUMBER("item_bytes", sizes->item_bytes),
                                      STAT_NUMBER("taken_bytes", sizes->taken_bytes)};
    double sum = 0;
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        double value = stat_line_number(line.value), bytes = stat_line_number(line.name);
        STAT_LINE_TAKE(slots, line.name, line.value);
        if (stat_line_is(line.name, "sizes_status")) {
            sizes->is_tracked = stat_line_is(line.value, "enabled");
        } else if (bytes > 0 && value > 0) {
            sizes->bins[size_bin_of(bytes)] += value;
            sum += value;
        }
    }
    if (isnan(sizes->items) && sizes->is_tracked) {
        sizes->items = sum;
    }
}

void size_bins_by_class(struct size_bins *sizes, const struct snapshot *now) {
    memset(sizes, 0, sizeof *sizes);
    sizes->item_bytes = sizes->taken_bytes = NAN;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = snapshot_class(now, id);
        double items = stat_number(stats->value[CLASS_number]);
        double mean = stat_number(stats->value[CLASS_mem_requested]) / items;
        double chunk = stat_number(stats->value[CLASS_chunk_size]);
        /* chunked items are booked in one class and stored in several */
        if (items > 0 && chunk > 0) {
            double bytes = mean > 0 && mean <= chunk ? mean : chunk;
            sizes->bins[size_bin_of(bytes)] += items;
            sizes->items += items;
        }
    }
}
