/* The search for the chunk sizes that take the fewest pages. fit.h explains the algorithm. */
#include "mem/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 6,
    STEP_PAIRS = 8192, /* pairs of sizes that a step compares: some 20 us */
};
/* The pages that one more class must save, multiplied by the number of all pages: a class costs the
 * free chunks of its last page. The cautious value amounts to at most one page, since a class whose
 * size goes out of use retains a page. */
static const double saving_least = 4, cautious_saving_least = 64;
/* the share of all pages that classes which need less than one page may hold */
static const double minimums_most = 1.0 / 4;

/* --- the table: the best k classes up to each size --- */

/* The sizes at which a class may end, ascending; the last is the largest chunk. */
struct ends {
    unsigned  count;
    uint32_t *chunk_bytes; /* chunk size of end i */
    double   *cost;        /* memory that an item in such a chunk takes */
    double   *items;       /* items that fit into a chunk of end i */
    uint16_t *lowest;      /* the lowest end that the ladder allows for the class below */
    unsigned  first_most;  /* the highest end that the first class may have */
};

struct table {
    struct ends ends;
    double   scale;        /* pages per byte, if there are enough items to fill all pages */
    /* Memory of the best k classes, and of the best k - 1, up to each end. INFINITY: so many
     * classes cannot end there. */
    double   *row, *above;
    uint16_t *from;        /* [k][j]: the end of the class below */
};

/* Pages that the items between two ends need, in fractions. */
static double fit_class_need(const struct table *t, int after, int last) {
    const struct ends *e = &t->ends;
    return (e->items[last] - (after < 0 ? 0 : e->items[after])) * e->cost[last] * t->scale;
}

/* Pages that a class for these items takes: at least one. */
static double fit_class_cost(const struct table *t, int after, int last) {
    double need = fit_class_need(t, after, last);
    return need > 1 || !(need > 0) ? need : 1;
}

/* Fills some columns of the row; returns the next column. */
static unsigned fit_fill_columns(struct table *t, uint16_t *from, unsigned column) {
    unsigned pairs = 0;
    for (; column < t->ends.count && pairs < STEP_PAIRS; column++) {
        double least = INFINITY;
        unsigned lowest = t->ends.lowest[column];
        for (unsigned i = lowest; i < column; i++) {
            double cost = t->above[i] + fit_class_cost(t, (int)i, (int)column);
            if (cost < least) {
                least = cost;
                from[column] = (uint16_t)i;
            }
        }
        t->row[column] = least;
        pairs += column - lowest + 1;
    }
    return column;
}

/* The largest chunk size with which a page holds as many chunks as with this one. */
static uint32_t fit_widest_chunk(uint32_t bytes, const struct size_rules *rules) {
    uint32_t widest = PAGE_BYTES / (PAGE_BYTES / bytes) / rules->unit_bytes * rules->unit_bytes;
    return widest < rules->most_bytes ? widest : rules->most_bytes;
}

static void fit_collect_ends(struct ends *e, const struct fit_histogram *h,
                             const struct size_rules *rules) {
    unsigned step = 0;
    double items = 0;
    uint32_t chunk_bytes = 0;
    for (uint32_t bytes = rules->least_bytes; chunk_bytes < rules->most_bytes;
         bytes = chunk_bytes + 1) {
        bytes = (bytes + rules->unit_bytes - 1) / rules->unit_bytes * rules->unit_bytes;
        chunk_bytes =
            fit_widest_chunk(bytes < rules->most_bytes ? bytes : rules->most_bytes, rules);
        for (; step < FIT_STEPS &&
               (h->steps[step].items == 0 || h->steps[step].bytes_most <= chunk_bytes);
             step++) {
            items += (double)h->steps[step].items;
        }
        e->chunk_bytes[e->count] = chunk_bytes;
        e->cost[e->count] = fit_chunk_cost(chunk_bytes);
        e->items[e->count++] = items;
    }
    e->items[e->count - 1] = (double)h->items;
}

/* Whether one size may follow another on the ladder: the factor between both is not exceeded, after
 * rounding up; or a page holds only one chunk less, so that no size lies between. */
static bool fit_is_rung(uint32_t from_bytes, uint32_t to_bytes, double factor,
                        uint32_t unit_bytes) {
    return to_bytes < from_bytes * factor + unit_bytes ||
           PAGE_BYTES / to_bytes + 1 >= PAGE_BYTES / from_bytes;
}

static void fit_set_ladder(struct ends *e, const struct size_rules *rules, double factor) {
    uint32_t first_bytes =
        rules->first_bytes > rules->least_bytes ? rules->first_bytes : rules->least_bytes;
    unsigned lowest = 0;
    e->first_most = 0;
    for (unsigned j = 0; j < e->count; j++) {
        while (lowest < j &&
               !fit_is_rung(e->chunk_bytes[lowest], e->chunk_bytes[j], factor, rules->unit_bytes)) {
            lowest++;
        }
        e->lowest[j] = (uint16_t)lowest;
        e->first_most = factor > rules->most_bytes / first_bytes || e->chunk_bytes[j] <= first_bytes
                            ? j
                            : e->first_most;
    }
}

/* The classes of a list of sizes, counted. */
struct found {
    unsigned used;     /* classes that have items */
    unsigned minimums; /* of these, classes that need less than one page */
};

/* Reads the sizes of k classes out of the table, from the last to the first. */
static struct found fit_read_sizes(const struct table *t, unsigned k, struct size_list *sizes) {
    struct found found = {0};
    unsigned width = t->ends.count;
    int last = (int)width - 1;
    sizes->count = k;
    for (unsigned i = k; i-- > 0;) {
        int before = i > 0 ? t->from[i * width + (unsigned)last] : -1;
        sizes->bytes[i] = t->ends.chunk_bytes[last];
        double need = fit_class_need(t, before, last);
        found.used += need > 0;
        found.minimums += need > 0 && need < 1;
        last = before;
    }
    return found;
}

/* The state of a search, which fills rows of the table, in rounds, for one ladder after another. */
struct fit_search {
    struct table                 t;
    const struct fit_histogram *h;
    struct size_rules            rules;
    struct fit_limits            limits;
    double                       factor; /* of the ladder that is tried */
    int                          round;
    unsigned                     classes; /* the row that is being filled, or was filled last */
    unsigned                     column;  /* the next column of that row */
    double                       total;   /* pages of the last row that reached the largest chunk */
    /* pages of `sizes`; below 0: no list met the limits yet */
    double                       chosen;
    struct size_list             sizes;
    /* the sizes are found; only rungs of the ladder may be added */
    bool                         fitted;
};

/* --- rungs where there are no items --- */

/* The size in the middle of a gap, if pages hold another number of its chunks; else 0. */
static uint32_t fit_gap_middle(uint32_t from_bytes, uint32_t to_bytes, uint32_t unit_bytes) {
    uint32_t middle = (uint32_t)sqrt((double)from_bytes * to_bytes) / unit_bytes + 1;
    unsigned chunks = PAGE_BYTES / (middle * unit_bytes), least = PAGE_BYTES / to_bytes + 1;
    uint32_t bytes = PAGE_BYTES / (chunks > least ? chunks : least) / unit_bytes * unit_bytes;
    return bytes > from_bytes && bytes < to_bytes ? bytes : 0;
}

/* Adds a rung without items where neighbours are furthest apart. Such a class has no page and costs
 * nothing. False: no gap is wider than the factor, or the list may have no more sizes. */
static bool fit_add_rung(struct fit_search *f) {
    struct size_list *l = &f->sizes;
    double widest = 0;
    unsigned place = 0;
    uint32_t rung = 0;
    for (unsigned i = 1; i < l->count && l->count < f->limits.classes_most; i++) {
        uint32_t from = l->bytes[i - 1], to = fit_histogram_next(f->h, from, l->bytes[i]);
        uint32_t middle = fit_gap_middle(from, to, f->rules.unit_bytes);
        if (middle != 0 && (double)to / from > widest &&
            !fit_is_rung(from, to, FIT_BARE_FACTOR, f->rules.unit_bytes)) {
            widest = (double)to / from, place = i, rung = middle;
        }
    }
    if (rung == 0) {
        return false;
    }
    memmove(&l->bytes[place + 1], &l->bytes[place], (l->count - place) * sizeof *l->bytes);
    l->bytes[place] = rung;
    l->count++;
    return true;
}

static void fit_begin_round(struct fit_search *f) {
    struct table *t = &f->t;
    for (unsigned j = 0; j < t->ends.count; j++) {
        t->row[j] = j <= t->ends.first_most ? fit_class_cost(t, -1, (int)j) : INFINITY;
    }
    f->classes = 1;
    f->column = t->ends.count;
    f->total = INFINITY;
    f->chosen = -1;
}

static void fit_begin_ladder(struct fit_search *f) {
    double item_bytes = (double)f->h->item_bytes;
    fit_set_ladder(&f->t.ends, &f->rules, f->factor);
    f->t.scale = item_bytes > 0 ? (double)f->limits.pages / item_bytes : 0;
    f->round = 0;
    fit_begin_round(f);
}

/* Judges a row that is full. Rows are added until one reaches the largest chunk, and then as long
 * as each saves enough and meets the limits. Returns whether another row follows. */
static bool fit_judge_row(struct fit_search *f) {
    unsigned width = f->t.ends.count;
    const struct fit_limits *l = &f->limits;
    double with = f->t.row[width - 1], least = saving_least / l->pages;
    least = l->cautious ? fmin(cautious_saving_least / l->pages, 1) : least;
    if (isfinite(with)) {
        struct size_list more;
        struct found found = fit_read_sizes(&f->t, f->classes, &more);
        if (found.used > l->used_classes_most || f->total - with < least) {
            return false;
        }
        f->total = with;
        if (found.minimums <= l->pages * minimums_most) {
            f->sizes = more;
            f->chosen = with;
        }
    }
    return f->classes < f->limits.classes_most && f->classes < width;
}

/* The sizes depend on how many items fill all pages, and that number depends on the sizes: a few
 * rounds find both. If no list by this ladder meets the limits, a wider ladder follows. Returns
 * whether a round follows. */
static bool fit_next_round(struct fit_search *f) {
    double pages = f->limits.pages, taken = f->chosen;
    if (taken > 0 && (taken <= pages * 0.995 || taken >= pages * 1.005) && ++f->round < ROUNDS) {
        f->t.scale *= pages / taken;
        fit_begin_round(f);
        return true;
    }
    if (taken >= 0) {
        return false;
    }
    /* the ladder allowed any size after any other, and the classes were still too many */
    if (f->factor > f->rules.most_bytes) {
        f->sizes = (struct size_list){.count = 1, .bytes = {f->rules.most_bytes}};
        return false;
    }
    f->factor *= f->factor;
    fit_begin_ladder(f);
    return true;
}

bool fit_step(struct fit_search *f) {
    if (f->column < f->t.ends.count) {
        f->column =
            fit_fill_columns(&f->t, &f->t.from[(f->classes - 1) * f->t.ends.count], f->column);
        return true;
    }
    if (f->fitted) {
        return fit_add_rung(f);
    }
    if (fit_judge_row(f)) {
        double *row = f->t.above; /* for one class more */
        f->t.above = f->t.row;
        f->t.row = row;
        f->classes++;
        f->column = 0;
    } else {
        f->fitted = !fit_next_round(f);
    }
    return true;
}

static void fit_free_search(struct fit_search *f) {
    free(f->t.ends.chunk_bytes);
    free(f->t.ends.cost);
    free(f->t.ends.items);
    free(f->t.ends.lowest);
    free(f->t.row);
    free(f->t.above);
    free(f->t.from);
    free(f);
}

struct fit_search *fit_begin(const struct fit_histogram *h, const struct size_rules *rules,
                             const struct fit_limits *limits) {
    enum { ENDS = FIT_STEPS + 1 };
    struct fit_search *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    struct ends *e = &f->t.ends;
    e->chunk_bytes = malloc(ENDS * sizeof *e->chunk_bytes);
    e->cost = malloc(ENDS * sizeof *e->cost);
    e->items = malloc(ENDS * sizeof *e->items);
    e->lowest = malloc(ENDS * sizeof *e->lowest);
    f->t.row = malloc(ENDS * sizeof *f->t.row);
    f->t.above = malloc(ENDS * sizeof *f->t.above);
    f->t.from = malloc(ENDS * sizeof *f->t.from * limits->classes_most);
    if (!e->chunk_bytes || !e->cost || !e->items || !e->lowest || !f->t.row || !f->t.above ||
        !f->t.from) {
        fit_free_search(f);
        return NULL;
    }
    f->h = h;
    f->rules = *rules;
    f->limits = *limits;
    f->factor = FIT_LADDER_FACTOR;
    fit_collect_ends(e, h, rules);
    fit_begin_ladder(f);
    return f;
}

void fit_end(struct fit_search **taken, struct size_list *sizes) {
    *sizes = (*taken)->sizes;
    fit_free_search(*taken);
    *taken = NULL;
}

bool fit_sizes(const struct fit_histogram *h, const struct size_rules *rules,
               const struct fit_limits *limits, struct size_list *sizes) {
    struct fit_search *f = fit_begin(h, rules, limits);
    if (f == NULL) {
        return false;
    }
    while (fit_step(f)) {
    }
    fit_end(&f, sizes);
    return true;
}
