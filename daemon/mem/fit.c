#include "mem/fit.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6 };
static const double saving_least = 4;          /* pages that one more class must save, times all pages: its last one has free chunks */
static const double minimums_most = 1.0 / 4;   /* of all pages, that classes may hold which need less than one */
static const double older_most = 1.0 / 4;      /* items that a class which needs less than its page keeps beyond its share */

/* --- the histogram --- */

static unsigned step_of(uint32_t bytes) {
    if (bytes <= FIT_FINE_BYTES) {
        return (bytes + 7) / 8 - (bytes > 0);
    }
    unsigned octave = 31u - (unsigned)__builtin_clz(bytes - 1); /* 12 and more */
    return FIT_FINE_STEPS + (octave - 12) * FIT_OCTAVE_STEPS + (((bytes - 1) - (1u << octave)) >> (octave - 8));
}

void size_histogram_init(struct size_histogram *h, uint32_t every) {
    memset(h, 0, sizeof *h);
    h->every = every;
}

void size_histogram_add(struct size_histogram *h, uint32_t bytes, uint32_t chunk_bytes) {
    struct size_step *s = &h->steps[step_of(bytes)];
    s->items++;
    s->bytes_most = bytes > s->bytes_most ? bytes : s->bytes_most;
    h->items++;
    h->item_bytes += bytes;
    h->taken_bytes += fit_chunk_cost(chunk_bytes);
}

double fit_memory(const struct size_histogram *h, const struct size_list *sizes, uint32_t above_bytes, uint32_t most_bytes) {
    double bytes = 0;
    for (unsigned i = 0; i < FIT_STEPS; i++) {
        const struct size_step *s = &h->steps[i];
        if (s->items > 0 && s->bytes_most > above_bytes && s->bytes_most <= most_bytes) {
            bytes += (double)s->items * fit_chunk_cost(size_list_fit(sizes, s->bytes_most));
        }
    }
    return bytes;
}

/* --- how many items fit --- */

/* What one class of a list has to hold: of all items, and of one page. */
struct load {
    double share;    /* of the items */
    double per_page; /* items that a page holds */
};

/* The classes in which there would be items, and how many they are. */
static unsigned collect_loads(const struct size_histogram *h, const struct size_list *sizes, struct load loads[GEOMETRY_SIZES_MAX]) {
    unsigned place = 0, count = 0;
    double items = 0;
    for (unsigned i = 0; i <= FIT_STEPS; i++) {
        bool end = i == FIT_STEPS;
        if (!end && h->steps[i].items == 0) {
            continue;
        }
        for (; place < sizes->count && (end || h->steps[i].bytes_most > sizes->bytes[place]); place++) {
            if (items > 0) {
                loads[count++] = (struct load){items / (double)h->items, PAGE_BYTES / sizes->bytes[place]};
            }
            items = 0;
        }
        items += end ? 0 : (double)h->steps[i].items;
    }
    return count;
}

/* A class has one page at least, as soon as it has an item. */
static double class_pages(const struct load *l, double items) {
    double here = items * l->share, need = here / l->per_page, least = here < 1 ? here : 1;
    return need > least ? need : least;
}

static double pages_for(const struct load *loads, unsigned count, double items) {
    double pages = 0;
    for (unsigned i = 0; i < count; i++) {
        pages += class_pages(&loads[i], items);
    }
    return pages;
}

/* As many items as leave every class with one page at most. */
static double items_of_single_pages(const struct load *loads, unsigned count) {
    double items = loads[0].per_page / loads[0].share;
    for (unsigned i = 1; i < count; i++) {
        double here = loads[i].per_page / loads[i].share;
        items = here < items ? here : items;
    }
    return items;
}

double fit_items(const struct size_histogram *h, const struct size_list *sizes, uint32_t pages) {
    struct load loads[GEOMETRY_SIZES_MAX];
    unsigned count = collect_loads(h, sizes, loads);
    if (count == 0) {
        return 0;
    }
    double low = items_of_single_pages(loads, count), high = low + (double)pages * PAGE_BYTES / 8;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(pages_for(loads, count, middle) <= pages ? &low : &high) = middle;
    }
    double items = 0, taken = pages_for(loads, count, low);
    for (unsigned i = 0; i < count; i++) {
        double room = class_pages(&loads[i], low) * loads[i].per_page, wanted = low * loads[i].share * (1 + older_most);
        items += room < wanted ? room : wanted;
    }
    return taken > pages ? items * pages / taken : items; /* more classes than pages take from each other */
}

/* --- the best sizes --- */

/* Classes may end at these: the steps in use, by the chunk that holds their largest, and last the largest chunk. */
struct ends {
    unsigned  count;
    uint32_t *chunk_bytes; /* of end i */
    double   *cost;        /* of an item in such a chunk */
    double   *items;       /* up to end i and with it; [-1] is 0 */
};

struct table {
    struct ends ends;
    double   scale;        /* pages of a byte: that many items are there that all pages are full */
    double   *row, *above; /* memory of the best k, and k - 1, classes up to each end */
    uint16_t *from;        /* [k][j]: the end of the class before */
};

/* Pages that the items need which are in the class from behind one end to another. */
static double class_need(const struct table *t, int after, int last) {
    const struct ends *e = &t->ends;
    return (e->items[last] - (after < 0 ? 0 : e->items[after])) * e->cost[last] * t->scale;
}

/* Pages that they get: one at least. Being the larger of two, this satisfies the quadrangle inequality as the need does; and where
 * nothing needs the largest chunk, all other classes end below it. */
static double class_cost(const struct table *t, int after, int last) {
    double need = class_need(t, after, last);
    return need > 1 || !(need > 0) ? need : 1;
}

/* The ends [low, high] of a row, the class before which ends within [from_low, from_high]. */
static void fill_row(struct table *t, uint16_t *from, int low, int high, int from_low, int from_high) {
    if (low > high) {
        return;
    }
    int middle = (low + high) / 2, best = from_low, stop = middle - 1 < from_high ? middle - 1 : from_high;
    double least = -1;
    for (int i = from_low; i <= stop; i++) {
        double cost = t->above[i] + class_cost(t, i, middle);
        if (least < 0 || cost < least) {
            least = cost;
            best = i;
        }
    }
    t->row[middle] = least < 0 ? t->above[middle] : least;
    from[middle] = (uint16_t)best;
    fill_row(t, from, low, middle - 1, from_low, best);
    fill_row(t, from, middle + 1, high, best, from_high);
}

static void collect_ends(struct ends *e, const struct size_histogram *h, const struct size_rules *rules) {
    double items = 0;
    for (unsigned i = 0; i < FIT_STEPS; i++) {
        if (h->steps[i].items == 0) {
            continue;
        }
        uint32_t bytes = h->steps[i].bytes_most > rules->least_bytes ? h->steps[i].bytes_most : rules->least_bytes;
        bytes = (bytes + rules->unit_bytes - 1) / rules->unit_bytes * rules->unit_bytes;
        bytes = bytes < rules->most_bytes ? bytes : rules->most_bytes;
        items += (double)h->steps[i].items;
        if (e->count == 0 || e->chunk_bytes[e->count - 1] != bytes) {
            e->chunk_bytes[e->count++] = bytes;
        }
        e->items[e->count - 1] = items;
    }
    if (e->count == 0 || e->chunk_bytes[e->count - 1] != rules->most_bytes) {
        e->chunk_bytes[e->count] = rules->most_bytes;
        e->items[e->count++] = items;
    }
    for (unsigned i = 0; i < e->count; i++) {
        e->cost[i] = fit_chunk_cost(e->chunk_bytes[i]);
    }
}

/* Walks the table back from k classes. Returns how many of them need less than one page. */
static unsigned trace(const struct table *t, unsigned k, struct size_list *sizes) {
    unsigned width = t->ends.count, minimums = 0;
    int last = (int)width - 1;
    sizes->count = k;
    for (unsigned i = k; i-- > 0;) {
        int before = i > 0 ? t->from[i * width + (unsigned)last] : -1;
        sizes->bytes[i] = t->ends.chunk_bytes[last];
        double need = class_need(t, before, last);
        minimums += need > 0 && need < 1;
        last = before;
    }
    return minimums;
}

/* Rows are added while they bring something and leave the classes pages that are full. Returns the pages that are taken. */
static double choose(struct table *t, unsigned classes_most, uint32_t pages, struct size_list *sizes) {
    int width = (int)t->ends.count;
    unsigned k = 1;
    for (int j = 0; j < width; j++) {
        t->row[j] = class_cost(t, -1, j);
    }
    double total = t->row[width - 1], chosen = total;
    trace(t, 1, sizes);
    while (k < classes_most && k < (unsigned)width) {
        double *swap = t->above;
        t->above = t->row;
        t->row = swap;
        memcpy(t->row, t->above, sizeof *t->row * k); /* fewer ends than classes: as good as it was */
        fill_row(t, &t->from[k * (unsigned)width], (int)k, width - 1, (int)k - 1, width - 2);
        struct size_list more;
        double with = t->row[width - 1];
        unsigned minimums = trace(t, k + 1, &more);
        if ((total - with) * pages < saving_least) {
            break;
        }
        total = with;
        k++;
        if (minimums <= pages * minimums_most) {
            *sizes = more;
            chosen = total;
        }
    }
    return chosen;
}

/* How many items make all pages full is known with the sizes only: a few rounds bring both. */
static void settle_sizes(struct table *t, unsigned classes_most, uint32_t pages, double item_bytes, struct size_list *sizes) {
    t->scale = item_bytes > 0 ? (double)pages / item_bytes : 0;
    for (int round = 0; round < ROUNDS; round++) {
        double taken = choose(t, classes_most, pages, sizes);
        if (!(taken > 0) || (taken > pages * 0.995 && taken < pages * 1.005)) {
            return;
        }
        t->scale *= pages / taken;
    }
}

bool fit_sizes(const struct size_histogram *h, const struct size_rules *rules, uint32_t pages, struct size_list *sizes) {
    enum { ENDS = FIT_STEPS + 1 };
    struct table t = {.ends = {.count = 0}};
    t.ends.chunk_bytes = malloc(ENDS * sizeof *t.ends.chunk_bytes);
    t.ends.cost = malloc(ENDS * sizeof *t.ends.cost);
    t.ends.items = malloc(ENDS * sizeof *t.ends.items);
    t.row = malloc(ENDS * sizeof *t.row);
    t.above = malloc(ENDS * sizeof *t.above);
    t.from = malloc(ENDS * sizeof *t.from * rules->count_most);
    bool memory = t.ends.chunk_bytes && t.ends.cost && t.ends.items && t.row && t.above && t.from;
    if (memory) {
        collect_ends(&t.ends, h, rules);
        settle_sizes(&t, rules->count_most, pages, (double)h->item_bytes, sizes);
    }
    free(t.ends.chunk_bytes);
    free(t.ends.cost);
    free(t.ends.items);
    free(t.row);
    free(t.above);
    free(t.from);
    return memory;
}
