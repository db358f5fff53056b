/* How much memory all values that are still coming may take. A draft is admitted before it takes
 * memory, for all that it will need. An admitted draft never waits, so no draft that holds a part
 * keeps another from the rest of its own.
 *
 * Threading: any thread. The sums may change while they are read, so two drafts that arrive
 * together may both be turned away. Cost: three loads and an addition. */
#ifndef SLATE_CACHE_ITEMS_UPLOAD_QUOTA_H
#define SLATE_CACHE_ITEMS_UPLOAD_QUOTA_H
#include "cache/partition.h"

bool upload_is_large(const struct cache *, size_t value_bytes);
/* Adds what the draft needs to the sum of all drafts. False: the sum would pass the bound, and the
 * draft has to wait. */
bool upload_quota_admit(struct cache *, struct cache_upload *);
/* The draft no longer counts against the bound. */
void upload_quota_release(struct cache *, const struct cache_upload *);
#endif
