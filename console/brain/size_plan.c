#include "brain/size_plan.h"

#include <math.h>
#include <string.h>

#define PAGE_BYTES 1048576.0
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
    if (detail_is_known(details, INQUIRY_GEOMETRY)) {
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

/* The class for a size; plan->count when it is larger than all. */
static unsigned class_for(const struct size_plan *plan, double bytes) {
    unsigned at = 0;
    while (at < plan->count && plan->bytes[at] < bytes) {
        at++;
    }
    return at;
}

static double chunks_per_page(double chunk_bytes) {
    return fmax(floor(PAGE_BYTES / chunk_bytes), 1);
}

/* Goes through the sizes, those within a bin evenly spread: false at the end. Start with *at = 0. */
static bool next_size(const struct size_bins *sizes, unsigned *at, double *bytes, double *items) {
    for (; *at < SIZE_BINS * SAMPLES_A_BIN; *at += SAMPLES_A_BIN - *at % SAMPLES_A_BIN) {
        unsigned bin = *at / SAMPLES_A_BIN, sample = *at % SAMPLES_A_BIN;
        if (sizes->bins[bin] > 0) {
            double begin = bin > 0 ? size_bin_end(bin - 1) : 0;
            *bytes = begin + (size_bin_end(bin) - begin) * (sample + 0.5) / SAMPLES_A_BIN;
            *items = sizes->bins[bin] / SAMPLES_A_BIN;
            ++*at;
            return true;
        }
    }
    return false;
}

double size_plan_waste(const struct size_plan *plan, const struct size_bins *sizes) {
    double needed = 0, taken = 0, bytes, items;
    for (unsigned at = 0; next_size(sizes, &at, &bytes, &items);) {
        unsigned id = class_for(plan, bytes);
        if (id < plan->count) {
            needed += bytes * items;
            taken += PAGE_BYTES / chunks_per_page(plan->bytes[id]) * items;
        }
    }
    return taken > 0 ? (taken - needed) / taken : NAN;
}

/* Pages for so many items, by each class's need of pages per item. */
static double pages_for(const double *per_item, unsigned count, double items) {
    double pages = 0;
    for (unsigned i = 0; i < count; i++) {
        pages += per_item[i] > 0 ? fmax(per_item[i] * items, 1) : 0;
    }
    return pages;
}

double size_plan_items(const struct size_plan *plan, const struct size_bins *sizes, double pages) {
    double per_item[PLAN_SIZES] = {0}, all = 0, bytes, items;
    for (unsigned at = 0; next_size(sizes, &at, &bytes, &items);) {
        unsigned id = class_for(plan, bytes);
        if (id < plan->count) {
            per_item[id] += items / chunks_per_page(plan->bytes[id]);
            all += items;
        }
    }
    if (!(all > 0) || !(pages > 0)) {
        return NAN;
    }
    double low = 0, high = 1; /* in multiples of the items there are */
    while (pages_for(per_item, plan->count, high) < pages) {
        high *= 2;
    }
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(pages_for(per_item, plan->count, middle) < pages ? &low : &high) = middle;
    }
    return low * all;
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
