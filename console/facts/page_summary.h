/* The pages of one class, counted by how full and how old they are, for the page map.
 *
 * Exact if the server lists its pages. Else an estimate: the class's chunks in use, packed into as
 * few pages as they fill. This is the best case, for free chunks lie scattered. Pure functions. */
#ifndef CONSOLE_FACTS_PAGE_SUMMARY_H
#define CONSOLE_FACTS_PAGE_SUMMARY_H
#include "facts/model.h"

enum { FILL_STEPS = 101 }; /* percent of a page's chunks that are in use, rounded down */
enum age_step { AGE_SECONDS, AGE_MINUTES, AGE_HOURS, AGE_DAYS, AGE_KINDS };

struct page_summary {
    bool is_exact;
    unsigned pages; /* `draining` of these are being emptied; no count below has them */
    unsigned draining;
    unsigned by_fill[FILL_STEPS];
    double used_by_fill[FILL_STEPS]; /* chunks in use in those pages */
    unsigned by_age[AGE_KINDS], by_use[AGE_KINDS]; /* with is_exact; by_use: if noted */
    double youngest_s, oldest_s;                   /* NAN: unknown */
};

void page_summary_of(const struct model *model, unsigned class_id, struct page_summary *summary);

/* Chunks in use in the `pages` emptiest pages: the highest cost of donating these pages. */
double page_summary_cost(const struct page_summary *summary, unsigned pages);

/* Pages that are at most `percent` full. */
unsigned page_summary_below(const struct page_summary *summary, unsigned percent);
#endif
