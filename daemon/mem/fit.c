#include "mem/fit.h"

#include <math.h>
#include <string.h>

/* A class that needs less than its page holds older items, too: so many beyond its share. */
static const double older_most = 1.0 / 4;

/* --- the histogram --- */

static unsigned fit_step_number(uint32_t bytes) {
    if (bytes <= FIT_FINE_BYTES) {
        return (bytes + 7) / 8 - (bytes > 0);
    }
    unsigned octave = 31u - (unsigned)__builtin_clz(bytes - 1); /* 12 or more */
    return FIT_FINE_STEPS + (octave - 12) * FIT_OCTAVE_STEPS +
           (((bytes - 1) - (1u << octave)) >> (octave - 8));
}

/* The largest size of a step. */
static uint32_t fit_step_most(unsigned step) {
    if (step < FIT_FINE_STEPS) {
        return (step + 1) * 8;
    }
    unsigned octave = (step - FIT_FINE_STEPS) / FIT_OCTAVE_STEPS,
             at = (step - FIT_FINE_STEPS) % FIT_OCTAVE_STEPS;
    return ((uint32_t)FIT_FINE_BYTES << octave) + (((uint32_t)at + 1) << (octave + 4));
}

void fit_histogram_init(struct fit_histogram *h, uint32_t every) {
    memset(h, 0, sizeof *h);
    h->every = every;
}

void fit_histogram_add(struct fit_histogram *h, uint32_t bytes, uint32_t chunk_bytes) {
    struct fit_histogram_step *s = &h->steps[fit_step_number(bytes)];
    s->items++;
    s->bytes_most = bytes > s->bytes_most ? bytes : s->bytes_most;
    h->items++;
    h->item_bytes += bytes;
    h->taken_bytes += fit_chunk_cost(chunk_bytes);
}

uint32_t fit_histogram_next(const struct fit_histogram *h, uint32_t above_bytes,
                            uint32_t most_bytes) {
    for (unsigned i = fit_step_number(above_bytes); i <= fit_step_number(most_bytes); i++) {
        if (h->steps[i].items > 0 && h->steps[i].bytes_most > above_bytes) {
            uint32_t least = i > 0 ? fit_step_most(i - 1) + 1 : 1;
            return least > above_bytes ? least : above_bytes;
        }
    }
    return most_bytes;
}

double fit_memory(const struct fit_histogram *h, const struct size_list *sizes,
                  uint32_t above_bytes, uint32_t most_bytes) {
    double bytes = 0;
    for (unsigned i = 0; i < FIT_STEPS; i++) {
        const struct fit_histogram_step *s = &h->steps[i];
        if (s->items > 0 && s->bytes_most > above_bytes && s->bytes_most <= most_bytes) {
            bytes += (double)s->items * fit_chunk_cost(size_list_fit(sizes, s->bytes_most));
        }
    }
    return bytes;
}

/* --- how many items fit --- */

/* The items that one class of a list has to hold, and how many fit into one of its pages. */
struct load {
    double share;    /* of the items */
    double per_page; /* items that a page holds */
};

/* Collects the classes that have items, and returns their number. */
static unsigned fit_collect_loads(const struct fit_histogram *h, const struct size_list *sizes,
                                  struct load loads[CLASS_SIZES_MAX]) {
    unsigned place = 0, count = 0;
    double items = 0;
    for (unsigned i = 0; i <= FIT_STEPS; i++) {
        bool end = i == FIT_STEPS;
        if (!end && h->steps[i].items == 0) {
            continue;
        }
        for (; place < sizes->count && (end || h->steps[i].bytes_most > sizes->bytes[place]);
             place++) {
            if (items > 0) {
                loads[count++] =
                    (struct load){items / (double)h->items, PAGE_BYTES / sizes->bytes[place]};
            }
            items = 0;
        }
        items += end ? 0 : (double)h->steps[i].items;
    }
    return count;
}

/* Pages of a class for that many items: at least one, as soon as the class has an item. */
static double fit_class_pages(const struct load *l, double items) {
    double here = items * l->share, need = here / l->per_page, least = here < 1 ? here : 1;
    return need > least ? need : least;
}

static double fit_pages(const struct load *loads, unsigned count, double items) {
    double pages = 0;
    for (unsigned i = 0; i < count; i++) {
        pages += fit_class_pages(&loads[i], items);
    }
    return pages;
}

/* The most items with which no class needs a second page. */
static double fit_single_page_items(const struct load *loads, unsigned count) {
    double items = loads[0].per_page / loads[0].share;
    for (unsigned i = 1; i < count; i++) {
        double here = loads[i].per_page / loads[i].share;
        items = here < items ? here : items;
    }
    return items;
}

double fit_items(const struct fit_histogram *h, const struct size_list *sizes, uint32_t pages) {
    struct load loads[CLASS_SIZES_MAX];
    unsigned count = fit_collect_loads(h, sizes, loads);
    if (count == 0) {
        return 0;
    }
    double low = fit_single_page_items(loads, count), high = low + (double)pages * PAGE_BYTES / 8;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(fit_pages(loads, count, middle) <= pages ? &low : &high) = middle;
    }
    double items = 0, taken = fit_pages(loads, count, low);
    for (unsigned i = 0; i < count; i++) {
        double room = fit_class_pages(&loads[i], low) * loads[i].per_page,
               wanted = low * loads[i].share * (1 + older_most);
        items += room < wanted ? room : wanted;
    }
    /* There are more classes than pages: they take the pages from each other. */
    return taken > pages ? items * pages / taken : items;
}

/* --- sizes that are not there yet --- */

void fit_absent_sizes(const struct fit_histogram *h, const struct size_list *sizes,
                      struct fit_absent_sizes *absent) {
    double octaves = 0, wasted = 0, most = 0;
    for (unsigned i = 1; i < FIT_STEPS; i++) {
        uint32_t above = fit_step_most(i - 1), bytes = fit_step_most(i);
        if (h->steps[i].items > 0 || above < sizes->bytes[0] ||
            bytes > sizes->bytes[sizes->count - 1]) {
            continue;
        }
        double cost = fit_chunk_cost(size_list_fit(sizes, bytes)),
               span = log2((double)bytes / above);
        octaves += span;
        wasted += span * (1 - (above + bytes) / 2.0 / cost);
        most = fmax(most, 1 - (above + 1) / cost);
    }
    *absent = (struct fit_absent_sizes){.mean_pct = octaves > 0 ? wasted / octaves * 100 : 0,
                                  .most_pct = most * 100};
}
