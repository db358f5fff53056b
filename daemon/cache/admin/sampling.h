/* The stream of sampled keys. */
#ifndef SLATE_CACHE_ADMIN_SAMPLING_H
#define SLATE_CACHE_ADMIN_SAMPLING_H
#include "cache/partition.h"

static inline bool sampled(const struct cache_thread *ct, uint64_t hash) {
    return sample_takes(hash, ct->sample_hash_below);
}
/* Writes the record of a sampled key. The class is SLAB_CLASS_NONE if unknown. */
void sampling_note(struct cache_thread *, enum sample_verb, uint64_t hash, unsigned class_id,
                   uint32_t value_bytes, uint32_t expires_s);
bool sampling_thread_begin(struct cache_thread *); /* false: out of memory */
void sampling_thread_end_locked(struct cache_thread *); /* threads_lock is held */
#endif
