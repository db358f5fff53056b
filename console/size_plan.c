#include "size_plan.h"

#include <math.h>
#include <string.h>

enum { HEADER_ROOM = 48 /* memcached's item header, in its first class */, SAMPLES_A_BIN = 8 };

static void add_size(struct size_plan *plan, double bytes) {
    if (plan->count == PLAN_SIZES || !(bytes > 0)) {
        return;
    }
    unsigned at = plan->count;
    for (; at > 0 && plan->bytes[at - 1] >= bytes; at--) {
        if (plan->bytes[at - 1] == bytes) {
            return;
        }
    }
    memmove(&plan->bytes[at + 1], &plan->bytes[at], (plan->count - at) * sizeof *plan->bytes);
    plan->bytes[at] = bytes;
    plan->count++;
}

void size_plan_by_factor(double first_bytes, double factor, double most_bytes,
                         struct size_plan *plan) {
    *plan = (struct size_plan){0};
    if (!(factor > 1) || !(first_bytes > 0) || !(most_bytes >= first_bytes)) {
        return;
    }
    for (double size = first_bytes; size <= most_bytes / factor && plan->count < 62;) {
        double aligned = ceil(size / 8) * 8;
        add_size(plan, aligned);
        size = aligned * factor;
    }
    add_size(plan, most_bytes);
}

double size_plan_first(const struct snapshot *now) {
    return stat_number(now->setting[SETTING_chunk_size]) + HEADER_ROOM;
}

double size_plan_most(const struct snapshot *now) {
    double chunk = stat_number(now->setting[SETTING_slab_chunk_max]);
    return chunk > 0 ? chunk : stat_number(now->setting[SETTING_item_size_max]);
}

void size_plan_now(const struct model *model, struct size_plan *plan) {
    const struct snapshot *now = model_now(model);
    const struct details *details = model_details(model);
    *plan = (struct size_plan){0};
    if (detail_is_known(details, DETAIL_GEOMETRY)) {
        for (unsigned id = 1; id < TUNE_CLASSES; id++) {
            const struct geometry_class *of_class = &details->geometry.of_class[id];
            if (!of_class->is_retired) {
                add_size(plan, of_class->chunk_bytes);
            }
        }
    } else if (now != NULL) {
        double factor = stat_number(now->setting[SETTING_growth_factor]) / 1000;
        size_plan_by_factor(size_plan_first(now), factor, size_plan_most(now), plan);
        plan->is_guess = true;
        for (unsigned id = 1; id < CLASS_LIMIT; id++) {
            add_size(plan, stat_number(now->classes[id].value[CLASS_chunk_size]));
        }
    }
}

static double chunk_for(const struct size_plan *plan, double bytes) {
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->bytes[i] >= bytes) {
            return plan->bytes[i];
        }
    }
    return NAN;
}

double size_plan_waste(const struct size_plan *plan, const struct size_bins *sizes) {
    double needed = 0, taken = 0;
    for (unsigned bin = 0; bin < SIZE_BINS; bin++) {
        double begin = bin > 0 ? size_bin_end(bin - 1) : 0, end = size_bin_end(bin);
        for (int i = 0; i < SAMPLES_A_BIN && sizes->bins[bin] > 0; i++) {
            double bytes = begin + (end - begin) * (i + 0.5) / SAMPLES_A_BIN;
            double chunk = chunk_for(plan, bytes);
            if (!isnan(chunk)) {
                needed += bytes * sizes->bins[bin] / SAMPLES_A_BIN;
                taken += chunk * sizes->bins[bin] / SAMPLES_A_BIN;
            }
        }
    }
    return taken > 0 ? (taken - needed) / taken : NAN;
}

void size_bins_by_class(const struct snapshot *now, struct size_bins *sizes) {
    memset(sizes, 0, sizeof *sizes);
    sizes->items = 0;
    sizes->item_bytes = sizes->taken_bytes = sizes->sampled_pages = NAN;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = &now->classes[id];
        double items = stat_number(stats->value[CLASS_number]);
        double mean = stat_number(stats->value[CLASS_mem_requested]) / items;
        double chunk = stat_number(stats->value[CLASS_chunk_size]);
        if (items > 0 && chunk > 0) { /* chunked items are booked in one class and stored in several */
            double bytes = mean > 0 && mean <= chunk ? mean : chunk;
            sizes->bins[size_bin_of(bytes)] += items;
            sizes->items += items;
        }
    }
}

double class_waste(const struct snapshot *now) {
    double needed = 0, taken = 0;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = &now->classes[id];
        double bytes = stat_number(stats->value[CLASS_used_chunks]) *
                       stat_number(stats->value[CLASS_chunk_size]);
        double requested = stat_number(stats->value[CLASS_mem_requested]);
        if (bytes >= requested) { /* chunked items are booked in one class and stored in several */
            needed += requested;
            taken += bytes;
        }
    }
    return taken > 0 ? (taken - needed) / taken : NAN;
}
