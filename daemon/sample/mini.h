/* A miniature cache: one eviction policy over keys without values, for asking what a policy would
 * do.
 *
 * It holds nodes as the cache's items do, so the code of evict/ runs in it unchanged: on a sample
 * of the cache's keys at the sampling rate's share of its memory (what-if), or on a whole trace at
 * full size (the simulator). A request is a get and, on a miss, a set. A key that has expired is
 * not there; each insertion looks at sixteen nodes for such ones and frees them, so that few dead
 * keys keep living ones out. Memory: 40 bytes a node and what the policy says an item costs it, all
 * of it taken at the start. Threading: one thread at a time. Cost: as the policy's, and two cache
 * misses. Source of the idea: Waldspurger and others, "Cache Modeling and Optimization using
 * Miniature Simulations", USENIX ATC 2017. */
#ifndef SLATE_SAMPLE_MINI_H
#define SLATE_SAMPLE_MINI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evict/evict.h"

struct mini;

/* Holds at most `nodes_max` keys and, unless that is 0, at most `bytes_max` of what mini_request is
 * told they weigh. NULL: no memory, or no node. The tuning is the caller's and outlives it. */
struct mini *mini_create(const struct evict_policy *, const struct evict_tuning *,
                         uint32_t nodes_max, uint64_t bytes_max);
void         mini_destroy(struct mini **);

/* What is stored of a key: the hash stands for it. */
struct mini_item {
    uint64_t hash;
    uint32_t bytes, expires_s; /* the latter 0: never */
};
/* One request for the key. Returns whether it was there. On a miss it is there from now on, unless
 * it is heavier than the whole or the policy names no victim. A key that was there with another
 * weight is stored anew and counts as a hit. */
bool mini_request(struct mini *, struct mini_item, uint32_t now_s);
/* The parts of it: a get, and the set that follows a get that missed; nothing happens when the key
 * is there by now. */
bool mini_read(struct mini *, uint64_t hash, uint32_t now_s);
void mini_fill(struct mini *, struct mini_item, uint32_t now_s);
/* a set that follows no miss */
void mini_store(struct mini *, struct mini_item, uint32_t now_s);
/* another time to live, if it is there */
void mini_touch(struct mini *, uint64_t hash, uint32_t expires_s, uint32_t now_s);
void mini_delete(struct mini *, uint64_t hash);

/* For a request that comes soon: first the one, then, when that had its time, the other. */
void mini_prefetch_bucket(const struct mini *, uint64_t hash);
void mini_prefetch_key(const struct mini *, uint64_t hash);

/* --- while it runs --- */
void mini_switch(struct mini *, const struct evict_policy *);
/* not 0; what is too much goes at the next insertion */
void mini_set_bytes_max(struct mini *, uint64_t bytes_max);
/* Drops the keys that are not in the sample when only those below are (sample/stream.h). */
void mini_keep_below(struct mini *, uint32_t below);

uint32_t mini_nodes(const struct mini *);
uint32_t mini_nodes_max(const struct mini *);
uint64_t mini_bytes(const struct mini *);
uint64_t mini_bytes_max(const struct mini *);
/* of such a one; at most, with what its policy remembers */
size_t   mini_memory(const struct evict_policy *, uint32_t nodes_max);
#endif
