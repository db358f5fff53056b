/* memcached's pages on flash, one by one: stats extstore.
 *
 * Plain data and its parser; the parser begins anew. Pure functions. */
#ifndef CONSOLE_FACTS_DETAIL_EXTSTORE_H
#define CONSOLE_FACTS_DETAIL_EXTSTORE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXTSTORE_PAGES_MOST = 4096, /* four lines each with every refresh: half a megabyte at most */
    EXTSTORE_BUCKETS = 6        /* what pages are written for */
};

extern const char *const extstore_buckets[EXTSTORE_BUCKETS];

struct extstore_page {
    uint64_t bytes; /* that values take in it */
    uint8_t bucket; /* what is written to it; of a free one, what it is kept for */
    bool is_used;
};

struct extstore_pages {
    unsigned count;
    struct extstore_page pages[EXTSTORE_PAGES_MOST];
};

void extstore_pages_parse(struct extstore_pages *list, const char *text, size_t text_bytes);

/* How many pages in use values fill less than that share of. */
unsigned extstore_sparse_pages(const struct extstore_pages *list, double page_bytes, double share);
#endif
