/* How much memory all values that are still coming may take. A draft is admitted before it takes
 * any, for all that it will need; admitted ones never wait, so none that holds a part keeps another
 * from its rest. Threading: any thread; loads and sums that others change meanwhile, so that two
 * who meet may both be turned away. Cost: three loads and an addition. */
#ifndef SLATE_CACHE_ADMIT_H
#define SLATE_CACHE_ADMIT_H
#include "cache/partition.h"

bool draft_is_large(const struct cache *, size_t value_bytes);
/* Counts what the draft needs against what all may take. False: it has to wait. */
bool draft_admit(struct cache *, struct cache_draft *);
/* It takes nothing any more. */
void draft_dismiss(struct cache *, const struct cache_draft *);
#endif
