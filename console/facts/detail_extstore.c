#include "facts/detail_extstore.h"

#include "facts/stat_line.h"

#include <string.h>

/* By the number that memcached has for each. */
const char *const extstore_buckets[EXTSTORE_BUCKETS] = {"default", "compact",     "chunked",
                                                        "lowttl",  "coldcompact", "old"};

static void take_field(struct extstore_page *page, const char *field, double value) {
    bool is_bucket = value >= 0 && value < EXTSTORE_BUCKETS;
    if (strcmp(field, "version") == 0) {
        page->is_used = value > 0;
    } else if (strcmp(field, "bytes") == 0) {
        page->bytes = value > 0 ? (uint64_t)value : 0;
    } else if (strcmp(field, page->is_used ? "bucket" : "free_bucket") == 0 && is_bucket) {
        page->bucket = (uint8_t)value; /* the version comes first */
    }
}

void extstore_pages_parse(struct extstore_pages *list, const char *text, size_t text_bytes) {
    struct stat_line line;
    *list = (struct extstore_pages){0};
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        const char *field;
        unsigned number;
        if (stat_line_numbered(line.name, EXTSTORE_PAGES_MOST, &number, &field)) {
            list->count = number < list->count ? list->count : number + 1;
            take_field(&list->pages[number], field, stat_line_number(line.value));
        }
    }
}

unsigned extstore_sparse_pages(const struct extstore_pages *list, double page_bytes, double share) {
    unsigned count = 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct extstore_page *page = &list->pages[i];
        count += page->is_used && (double)page->bytes < page_bytes * share;
    }
    return count;
}
