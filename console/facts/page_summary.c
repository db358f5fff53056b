#include "facts/page_summary.h"

#include <math.h>
#include <string.h>

static enum age_step page_age_step(double age_s) {
    return age_s < 60      ? AGE_SECONDS
           : age_s < 3600  ? AGE_MINUTES
           : age_s < 86400 ? AGE_HOURS
                           : AGE_DAYS;
}

static void add_page(struct page_summary *summary, const struct page_info *page) {
    summary->pages++;
    if (page->state == PAGE_STATE_DRAINING) {
        summary->draining++;
        return;
    }
    unsigned fill = page->chunks > 0 ? (unsigned)((uint64_t)page->used * 100 / page->chunks) : 0;
    summary->by_fill[fill]++;
    summary->used_by_fill[fill] += page->used;
    summary->by_age[page_age_step(page->age_s)]++;
    if (page->unused_s != UINT32_MAX) {
        summary->by_use[page_age_step(page->unused_s)]++;
    }
    summary->youngest_s = fmin(summary->youngest_s, page->age_s);
    summary->oldest_s = fmax(summary->oldest_s, page->age_s);
}

/* Estimates: full pages, one with the remaining items, and empty ones. */
static void summary_estimate_pages(struct page_summary *summary, const struct class_stats *stats) {
    double pages = stat_number(stats->value[CLASS_total_pages]);
    double chunks = stat_number(stats->value[CLASS_chunks_per_page]);
    double used = stat_number(stats->value[CLASS_used_chunks]);
    if (!(pages >= 1) || !(chunks >= 1) || isnan(used) || pages > PAGES_MOST) {
        return;
    }
    unsigned full = (unsigned)fmin(floor(used / chunks), pages);
    double remainder = used - full * chunks;
    summary->pages = (unsigned)pages;
    summary->by_fill[100] = full;
    summary->used_by_fill[100] = full * chunks;
    if (full < summary->pages) {
        unsigned fill = (unsigned)fmin(remainder * 100 / chunks, 99);
        summary->by_fill[fill]++;
        summary->used_by_fill[fill] += remainder;
        summary->by_fill[0] += summary->pages - full - 1;
    }
}

void page_summary_of(const struct model *model, unsigned class_id, struct page_summary *summary) {
    const struct details *details = model_details(model);
    const struct snapshot *now = model_now(model);
    memset(summary, 0, sizeof *summary);
    summary->youngest_s = summary->oldest_s = NAN;
    if (detail_is_known(details, INQUIRY_PAGES) && details->pages.is_complete) {
        summary->is_exact = true;
        for (unsigned i = 0; i < details->pages.count; i++) {
            const struct page_info *page = &details->pages.pages[i];
            if (page->state != PAGE_STATE_NONE && page->class_id == class_id) {
                add_page(summary, page);
            }
        }
    } else if (now != NULL) {
        summary_estimate_pages(summary, snapshot_class(now, class_id));
    }
}

double page_summary_cost(const struct page_summary *summary, unsigned pages) {
    double cost = 0;
    for (unsigned fill = 0; fill < FILL_STEPS && pages > 0; fill++) {
        unsigned count = summary->by_fill[fill];
        if (count == 0) {
            continue;
        }
        unsigned taken = count < pages ? count : pages;
        cost += summary->used_by_fill[fill] * taken / count;
        pages -= taken;
    }
    return cost;
}

unsigned page_summary_below(const struct page_summary *summary, unsigned percent) {
    unsigned pages = 0;
    for (unsigned fill = 0; fill < FILL_STEPS && fill <= percent; fill++) {
        pages += summary->by_fill[fill];
    }
    return pages;
}
