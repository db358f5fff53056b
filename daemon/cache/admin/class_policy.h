/* The eviction policies of the cache and of its classes.
 *
 * A policy that was set for a class belongs to the sizes that the class served then. So it outlives
 * a change of the chunk sizes: a class gets the policy of the largest size that it serves, and the
 * old sizes get their old policies back. Other sizes follow the cache's policy. Control thread. */
#ifndef SLATE_CACHE_ADMIN_CLASS_POLICY_H
#define SLATE_CACHE_ADMIN_CLASS_POLICY_H
#include "cache/partition.h"

/* After a change of the sizes: gives a class the policy of its size, and an id without a class the
 * cache's. Cost: a lock of each partition if the policy changes. */
void class_policy_follow_size(struct cache *, unsigned class_id);
/* Remembers, by size, the policies that the classes of a memory file have. */
void class_policy_recover(struct cache *);
#endif
