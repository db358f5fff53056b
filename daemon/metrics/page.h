/* The page of metrics, made in Lua by the modules of slatectl's exporter (lua/slate/cli/page),
 * so that both have the same names and figures.
 *
 * Limits: PAGE_MEMORY_BYTES for all that Lua holds. Threading: one thread, the struct's own. */
#ifndef SLATE_METRICS_PAGE_H
#define SLATE_METRICS_PAGE_H
#include <stdbool.h>
#include <stddef.h>

enum { PAGE_MEMORY_BYTES = 16 << 20, PAGE_WHY_BYTES = 256 };

struct page;

/* NULL: out of memory, and `why` (PAGE_WHY_BYTES) says so. */
struct page *page_create(char *why);
void         page_destroy(struct page **);

/* The groups of statistics that a page is made from, "" being the general one. */
enum { PAGE_GROUPS = 10 };
extern const char *const page_groups[PAGE_GROUPS];

struct page_answer {
    const char *bytes;
    size_t      count;
};

/* The text for these answers, one a group; it is the page's until the next call. NULL: `why` says
 * what failed, and the page is of no more use. */
const char *page_text(struct page *, bool openmetrics, const struct page_answer *, size_t *bytes,
                      char *why);
#endif
