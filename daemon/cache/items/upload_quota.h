/* Bounds the memory of all uploads. An upload is admitted with its complete size before it takes
 * memory. An admitted upload never waits, so two uploads never block each other half-way.
 *
 * Threading: any thread. The sums may change while they are read, so two uploads that arrive
 * together may both have to wait. Cost: three loads and an addition. */
#ifndef SLATE_CACHE_ITEMS_UPLOAD_QUOTA_H
#define SLATE_CACHE_ITEMS_UPLOAD_QUOTA_H
#include "cache/partition.h"

bool upload_is_large(const struct cache *, size_t value_bytes);
/* Charges the upload's memory to the quota. False: the quota is used up, and the upload has to
 * wait. */
bool upload_quota_admit(struct cache *, struct cache_upload *);
/* Releases the upload's share of the quota. */
void upload_quota_release(struct cache *, const struct cache_upload *);
#endif
